import { usageError } from '../errors/failure.ts'
import type { Options } from '../arguments/options.ts'
import { loadPublicKey } from './keys.ts'

/** `--key <key>` and `--key <name>=<key>`. Base64 ends with `=`, so a name needs a key after it. */
function splitKey(text: string): readonly [name: string | undefined, key: string] {
  const cut = text.indexOf('=')
  return cut < 1 || /^=*$/.test(text.slice(cut)) ? [undefined, text] : [text.slice(0, cut), text.slice(cut + 1)]
}

/** Keys of named parties, each name once. */
export async function loadKeysByName(cwd: string, options: Options): Promise<Readonly<Record<string, string>>> {
  // Without a prototype, so that names such as __proto__ have no special meaning.
  const found: Record<string, string> = Object.create(null) as Record<string, string>
  for (const text of options.list('key')) {
    const [name, key] = splitKey(text)
    if (name === undefined) continue
    if (Object.hasOwn(found, name)) throw usageError(`--key names ${JSON.stringify(name)} twice.`)
    found[name] = await loadPublicKey(cwd, '--key', key)
  }
  return found
}

/** The keys given for one party; undefined when there is none. */
export async function loadNamedKeys(
  cwd: string,
  options: Options,
  ...names: readonly string[]
): Promise<readonly string[] | undefined> {
  const found = await loadKeysByName(cwd, options)
  const keys = names.flatMap((name) => found[name] ?? [])
  return keys.length === 0 ? undefined : keys
}

/** The keys without a name. */
export async function loadPlainKeys(cwd: string, options: Options): Promise<readonly string[]> {
  const plain = options.list('key').filter((text) => splitKey(text)[0] === undefined)
  const keys = await Promise.all(plain.map((each) => loadPublicKey(cwd, '--key', each)))
  if (new Set(keys).size !== keys.length) throw usageError('--key names one key twice.')
  return keys
}
