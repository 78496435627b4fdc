import { writeFileSync } from 'node:fs'

// Loaded before a measured program with --import: leaves the most resident memory it ever had, in KiB.
const file = process.env['BENCH_PEAK_FILE']
if (file !== undefined) process.once('exit', () => writeFileSync(file, String(process.resourceUsage().maxRSS)))
