#pragma once
__int64 _InterlockedOr64(__int64 volatile *, __int64);
long _InterlockedExchange(long volatile *, long);
