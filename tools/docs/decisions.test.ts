import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'

const FOLDER = join(import.meta.dirname, '../../docs/decisions')
const read = (file: string): string => readFileSync(join(FOLDER, file), 'utf8')

it('the index of the decisions lists every record in order, with the title of the record', () => {
  const records = globSync('[0-9]*.md', { cwd: FOLDER }).toSorted()
  const titles = records.map((file) => [/^# (.*)$/m.exec(read(file))?.[1], file])
  const listed = [...read('index.md').matchAll(/^\| \[(.*?)\]\((.*?)\)/gm)].map(([, title, file]) => [title, file])
  expect(records.length).toBeGreaterThan(30)
  expect(listed).toEqual(titles)
})
