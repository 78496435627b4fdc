/** A longer line would be stored in memory before it can be refused. */
export const MAX_LINE_BYTES: number = 16 * 1024 * 1024

/** Yields lines of a stream without their ends. Throws at a line that is too long. */
export async function* readLines(chunks: AsyncIterable<Uint8Array | string>): AsyncGenerator<string> {
  let parts: Buffer[] = []
  let size = 0
  for await (const chunk of chunks) {
    let rest = Buffer.from(chunk as Uint8Array)
    for (let end = rest.indexOf(10); end >= 0; end = rest.indexOf(10)) {
      parts.push(rest.subarray(0, end))
      yield Buffer.concat(parts).toString('utf8').replace(/\r$/, '')
      parts = []
      size = 0
      rest = rest.subarray(end + 1)
    }
    size += rest.length
    if (size > MAX_LINE_BYTES) throw new RangeError('a line is longer than 16 MiB')
    parts.push(rest)
  }
}
