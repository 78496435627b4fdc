import { readFileSync, watchFile } from 'node:fs'

/**
 * Loaded first in a process with a moved clock (reliability 8): moved by a fixed number of milliseconds, or by the
 * number in a file, so that a campaign can let days pass.
 */
const real = Date.now.bind(Date)
const file = process.env['CHANCERY_MOVED_CLOCK_FILE']
let offset = Number(process.env['CHANCERY_MOVED_CLOCK_MS'] ?? '0')
Date.now = () => real() + offset

if (file !== undefined) {
  const read = (): void => {
    const text = readFileSync(file, 'utf8')
    // Empty while the file is being written again.
    if (text !== '') offset = Number(text)
  }
  read()
  watchFile(file, { interval: 20, persistent: false }, read)
}
