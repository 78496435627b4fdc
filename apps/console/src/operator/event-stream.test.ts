import { expect, it } from 'vitest'
import { EventReader } from './event-stream.ts'

it('gives the data of events, however the text is cut, and an empty text for a comment', () => {
  const text = 'id: 1\nevent: changes\ndata: {"a":1}\n\n:\n\ndata: {"b":\ndata: 2}\n\ndata: unfinished'
  for (let size = 1; size <= text.length; size += 1) {
    const reader = new EventReader()
    const pieces = text.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? []
    expect(pieces.flatMap((piece) => reader.push(piece))).toEqual(['{"a":1}', '', '{"b":\n2}'])
  }
})
