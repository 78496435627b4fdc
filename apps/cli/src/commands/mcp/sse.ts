/** One event of a stream: its text with the blank line, and its data. */
export interface StreamEvent {
  readonly raw: string
  readonly data: string
}

const MAX_EVENT_CHARACTERS = 64 * 1024 * 1024

/** Yields each event when it is complete. A stream that ends inside of an event loses it, as for every reader. */
export async function* readEvents(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<StreamEvent> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of chunks) {
    text += decoder.decode(chunk, { stream: true })
    for (let end = endOfEvent(text); end > 0; end = endOfEvent(text)) {
      const raw = text.slice(0, end)
      text = text.slice(end)
      yield { raw, data: dataOf(raw) }
    }
    if (text.length > MAX_EVENT_CHARACTERS) throw new RangeError('an event is too long')
  }
}

function endOfEvent(text: string): number {
  const found = /\r\n\r\n|\n\n|\r\r/.exec(text)
  return found === null ? -1 : found.index + found[0].length
}

function dataOf(raw: string): string {
  return raw
    .split(/\r\n|\n|\r/)
    .filter((line) => line.startsWith('data:'))
    .map((line) => line.slice(5).replace(/^ /, ''))
    .join('\n')
}

/** Returns an event with other data. Its other fields stay. */
export function withData(raw: string, data: string): string {
  const others = raw.split(/\r\n|\n|\r/).filter((line) => line !== '' && !line.startsWith('data:'))
  return `${[...others, `data: ${data}`].join('\n')}\n\n`
}
