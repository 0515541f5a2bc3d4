/* NVML of the strict driver's GPU: one device, whose clocks, temperature and power never change. */
#include <string.h>

static int device;

static int answer(void *given, unsigned *value, unsigned found)
{
    if (given != &device || !value)
        return 2; /* NVML_ERROR_INVALID_ARGUMENT */
    *value = found;
    return 0;
}

int nvmlInit_v2(void)
{
    return 0;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char *bus, void **found)
{
    *found = &device;
    return strcmp(bus, "0000:01:00.0") ? 6 : 0; /* NVML_ERROR_NOT_FOUND */
}

int nvmlDeviceGetClockInfo(void *given, int type, unsigned *clock)
{
    return type == 1 || type == 2 ? answer(given, clock, type == 1 ? 1980 : 2619) : 2;
}

int nvmlDeviceGetTemperature(void *given, int sensor, unsigned *temperature)
{
    return sensor ? 2 : answer(given, temperature, 45);
}

int nvmlDeviceGetPowerUsage(void *given, unsigned *power)
{
    (void)given, (void)power;
    return 3; /* NVML_ERROR_NOT_SUPPORTED */
}
