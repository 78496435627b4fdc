import { usageError } from '../errors/failure.ts'
import type { Options } from './options.ts'

/** Texts given as `--flag name=value`, each name once. */
export function readPairs(options: Options, flag: string): Readonly<Record<string, string>> {
  // Without a prototype, so that names such as __proto__ have no special meaning.
  const found: Record<string, string> = Object.create(null) as Record<string, string>
  for (const pair of options.list(flag)) {
    const cut = pair.indexOf('=')
    const name = pair.slice(0, Math.max(cut, 0))
    if (name === '') throw usageError(`--${flag} must read <name>=<value>.`)
    if (Object.hasOwn(found, name)) throw usageError(`--${flag} names ${JSON.stringify(name)} twice.`)
    found[name] = pair.slice(cut + 1)
  }
  return found
}
