/** Splits the text of an event stream into the data of its events. A comment gives an empty text. */
export class EventReader {
  #rest = ''

  push(text: string): readonly string[] {
    const blocks = (this.#rest + text).split('\n\n')
    this.#rest = blocks.pop() ?? ''
    return blocks.map((block) =>
      block
        .split('\n')
        .flatMap((line) => (line.startsWith('data: ') ? [line.slice('data: '.length)] : []))
        .join('\n'),
    )
  }
}
