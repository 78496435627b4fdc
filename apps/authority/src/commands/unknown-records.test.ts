import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { readLines } from './unknown-records.ts'

it('gives every line to a reader that begins later', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'chancery-lines-'))
  try {
    const path = join(folder, 'events.jsonl')
    await writeFile(path, 'one\n\ntwo\nthree')
    const lines = readLines(path)
    await pause(200)
    const found: string[] = []
    for await (const line of lines) found.push(line)
    expect(found).toEqual(['one', 'two', 'three'])
  } finally {
    await rm(folder, { recursive: true })
  }
})
