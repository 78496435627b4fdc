/**
 * Loaded first in a process whose wall clock runs faster (reliability 8). Processes with the same start and rate share
 * one clock; timers and monotonic time do not change.
 */
const real = Date.now.bind(Date)
const start = Number(process.env['CHANCERY_CLOCK_START'] ?? real())
const rate = Number(process.env['CHANCERY_CLOCK_RATE'] ?? '1')
Date.now = () => start + (real() - start) * rate
