/** Loaded before anything else in a process that is to live at another time (reliability 8). */
const real = Date.now.bind(Date)
const offset = Number(process.env['CHANCERY_MOVED_CLOCK_MS'] ?? '0')
Date.now = () => real() + offset
