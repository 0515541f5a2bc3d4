"""Operations that move registers between threads or shared memory and compute nothing."""
