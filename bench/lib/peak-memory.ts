import { writeFileSync } from 'node:fs'

// Loaded before a measured program with --import: writes its peak resident memory, in KiB.
const file = process.env['BENCH_PEAK_FILE']
if (file !== undefined) process.once('exit', () => writeFileSync(file, String(process.resourceUsage().maxRSS)))
