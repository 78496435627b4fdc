import { execFileSync } from 'node:child_process'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '..', '..')

/** Seconds since 1970 that every made file is dated with: SOURCE_DATE_EPOCH, or the time of the commit. */
export function sourceDate(env: Readonly<Record<string, string | undefined>> = process.env): number {
  const given = env['SOURCE_DATE_EPOCH']
  const text =
    given ?? execFileSync('git', ['log', '-1', '--format=%ct', 'HEAD'], { cwd: ROOT, encoding: 'utf8' }).trim()
  if (!/^(0|[1-9]\d{0,10})$/.test(text)) throw new Error(`SOURCE_DATE_EPOCH is not a number of seconds: ${text}`)
  return Number(text)
}
