/** One event of a stream: the fields that are passed on. */
export interface StreamEvent {
  readonly id: string | undefined
  readonly retry: string | undefined
  /** Undefined for comments only, which keep a connection open. */
  readonly data: string | undefined
}

const MAX_EVENT_CHARACTERS = 64 * 1024 * 1024

/**
 * Yields each event when it is complete. A stream that ends inside of an event loses it, as for every reader. Throws
 * at bytes that are not UTF-8.
 */
export async function* readEvents(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<StreamEvent> {
  let lines: string[] = []
  let size = 0
  for await (const line of readStreamLines(chunks)) {
    size += line.length
    if (size > MAX_EVENT_CHARACTERS) throw new RangeError('an event is too long')
    if (line !== '') {
      lines.push(line)
      continue
    }
    if (lines.length > 0) yield eventOf(lines)
    lines = []
    size = 0
  }
}

/** A line ends with CR LF, LF or CR, also when these are mixed. */
async function* readStreamLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let parts: string[] = []
  let size = 0
  let isAfterReturn = false
  for await (const chunk of chunks) {
    let text = decoder.decode(chunk, { stream: true })
    if (text === '') continue
    // The LF of a CR LF that was cut in two.
    if (isAfterReturn && text.startsWith('\n')) text = text.slice(1)
    isAfterReturn = text === '' ? false : text.endsWith('\r')
    const pieces = text.split(/\r\n|\n|\r/)
    const last = pieces.pop() ?? ''
    for (const piece of pieces) {
      yield [...parts, piece].join('')
      parts = []
      size = 0
    }
    size += last.length
    if (size > MAX_EVENT_CHARACTERS) throw new RangeError('an event is too long')
    parts.push(last)
  }
}

function eventOf(lines: readonly string[]): StreamEvent {
  const valuesOf = (name: string): string[] =>
    lines
      .filter((line) => line === name || line.startsWith(`${name}:`))
      .map((line) => line.slice(name.length + 1).replace(/^ /, ''))
  const data = valuesOf('data')
  return {
    id: valuesOf('id').at(-1),
    retry: valuesOf('retry').at(-1),
    data: data.length === 0 ? undefined : data.join('\n'),
  }
}

/** Writes an event. Some readers end lines at other characters than the standard, so fields are visible ASCII. */
export function writeEvent({ id, retry, data }: StreamEvent): string {
  const fields = [
    ...(id !== undefined && /^[ -~]*$/.test(id) ? [`id: ${id}`] : []),
    ...(retry !== undefined && /^\d{1,9}$/.test(retry) ? [`retry: ${retry}`] : []),
    ...(data === undefined ? [] : [`data: ${data}`]),
  ]
  return `${fields.length === 0 ? ':' : fields.join('\n')}\n\n`
}
