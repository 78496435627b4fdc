import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { firstHourPage, readTasks } from './first-hour-page.ts'

const PAGE = readFileSync(join(import.meta.dirname, '..', '..', 'docs/first-hour.md'), 'utf8')

describe('docs/first-hour.md', () => {
  it('has ten tasks with the counts of first-hour.json', () => {
    const [, conditions = ''] = /`npm run docs:first-hour` (.+?), while other/.exec(PAGE) ?? []
    const seconds = readTasks().map(
      ({ task }) => new RegExp(`^\\| ${task} \\|[^|]*\\| ([\\d.]+ to [\\d.]+) `, 'm').exec(PAGE)?.[1] ?? '',
    )
    expect(seconds).toHaveLength(10)
    expect(seconds).not.toContain('')
    expect(firstHourPage(seconds, conditions)).toBe(PAGE)
  })

  it('names a source for every command of another project', () => {
    const others = readTasks().flatMap(({ others: all }) => Object.values(all))
    expect(others.filter(({ typed, source }) => typed !== undefined && source === undefined)).toEqual([])
    expect(PAGE).not.toContain('undefined')
  })
})
