import { existsSync, readFileSync } from 'node:fs'
import { readPublicKeyFile } from '@chancery/protocol'
import { SettingError } from '@chancery/service-kit'

/** Reads repeated `<key-id>=<value>` flags; a key value may be the path of a .pub file (protocol/core 12). */
export function operatorPairs(texts: readonly string[], kind: 'key' | 'tier'): ReadonlyMap<string, string> {
  const pairs = new Map<string, string>()
  for (const text of texts) {
    // Base64 ends in "=": only the first one separates.
    const cut = text.indexOf('=')
    const [name, value] = [text.slice(0, cut), text.slice(cut + 1)]
    if (cut < 1 || value === '') throw new SettingError('must have the form <key-id>=<value>')
    if (pairs.has(name)) throw new SettingError(`names ${name} twice`)
    pairs.set(name, kind === 'key' ? keyText(value) : value)
  }
  return pairs
}

function keyText(value: string): string {
  if (!existsSync(value)) return value
  const file = readPublicKeyFile(readFileSync(value, 'utf8'))
  if (file === undefined) throw new SettingError(`${value} is not a public key file`)
  return file.value
}
