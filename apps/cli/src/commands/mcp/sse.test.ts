import { expect, it } from 'vitest'
import { readEvents, writeEvent } from './sse.ts'

async function read(...chunks: readonly (string | Uint8Array)[]): Promise<unknown[]> {
  const events: unknown[] = []
  const bytes = async function* (): AsyncGenerator<Uint8Array> {
    for (const chunk of chunks) yield typeof chunk === 'string' ? Buffer.from(chunk) : chunk
  }
  for await (const { data } of readEvents(bytes())) events.push(data)
  return events
}

it('ends lines at LF, CR and CR LF, also when these are mixed or cut', async () => {
  expect(await read('data: 1\n\ndata: 2\r\n\r\ndata: 3\r\rdata: 4\n\r\ndata: 5\r\n\n')).toEqual([
    '1',
    '2',
    '3',
    '4',
    '5',
  ])
  expect(await read('data: 1\r', '\n', '\r', '\ndata: 2\r', '\rdata: 3\r\n', '\n')).toEqual(['1', '2', '3'])
})

it('joins lines of data, and ignores a byte order mark and an event that does not end', async () => {
  expect(await read('\ufeffdata: a\ndata:b\ndata\n\n: comment\n\ndata: lost\n')).toEqual(['a\nb\n', undefined])
})

it('throws at bytes that are not UTF-8', async () => {
  await expect(read(new Uint8Array([0x64, 0xff, 0x0a]))).rejects.toThrow(TypeError)
})

it('writes no field with characters at which some readers end a line', () => {
  expect(writeEvent({ id: '1\u2028data: x', retry: '1\u0085', data: '{}' })).toBe('data: {}\n\n')
  expect(writeEvent({ id: '7', retry: '100', data: '{}' })).toBe('id: 7\nretry: 100\ndata: {}\n\n')
  expect(writeEvent({ id: undefined, retry: undefined, data: undefined })).toBe(':\n\n')
})
