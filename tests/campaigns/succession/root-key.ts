import { copyFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { writePrivateKeyFile, writePublicKeyFile } from '@chancery/protocol'
import { type TestKey, testSeed, testSigner } from '@chancery/testkit'
import { chancery, tryCommand } from '../lib/command.ts'

/** Runs a command that kills itself at a fault point of the authority; false when it ended otherwise. */
export async function isKilledAt(point: string, of: SignedKey['settings'], ...words: string[]): Promise<boolean> {
  const { code } = await tryCommand(words, { settings: { ...of, CHANCERY_FAULT_POINT: point } })
  return code === 'SIGKILL'
}

/** A block the root has signed, with the files and settings of its key. */
export interface SignedKey {
  readonly key: TestKey
  readonly publicKey: string
  readonly genesisFile: string
  /** Absent for the first key. */
  readonly historyFile?: string
  /** Settings of an authority with this key, in addition to those of its network. */
  readonly settings: Readonly<Record<string, string>>
}

/** The owner of the root key: signs blocks and histories with the command of docs/operate/keys.md. */
export class Root {
  readonly #folder: string
  /** Where the running authority looks for keys. */
  readonly #keyFolder: string
  #count = 0

  private constructor(folder: string, keyFolder: string) {
    this.#folder = folder
    this.#keyFolder = keyFolder
  }

  static async open(folder: string, keyFolder: string): Promise<Root> {
    await writeFile(join(folder, 'root.key'), writePrivateKeyFile(testSeed('root'), 'rs-test'), { mode: 0o600 })
    return new Root(folder, keyFolder)
  }

  async first(key: TestKey, genesisFile: string): Promise<SignedKey> {
    const { publicKey } = await this.#write(key)
    const kept = this.#at('genesis-0.json')
    await copyFile(genesisFile, kept)
    return { key, publicKey, genesisFile: kept, settings: {} }
  }

  /** Returns the block with the next key. The key before as next key undoes the succession. */
  async succeed(present: SignedKey, next: TestKey): Promise<SignedKey> {
    this.#count += 1
    const [out, historyOut] = [this.#at(`genesis-${this.#count}.json`), this.#at(`history-${this.#count}.json`)]
    const { publicKey } = await this.#write(next)
    const earlier = present.historyFile === undefined ? [] : ['--history', present.historyFile]
    const words = ['--genesis', present.genesisFile, ...earlier, '--former-key-id', present.key.keyId]
    words.push('--na-public-key', this.#at(`${next.keyId}.pub`), '--root-private-key', this.#at('root.key'))
    await chancery({}, 'genesis', 'succeed', ...words, '--out', out, '--history-out', historyOut)
    const settings = {
      GENESIS_FILE: out,
      NA_KEY_ID: next.keyId,
      NA_PRIVATE_KEY_FILE: this.#at(`${next.keyId}.key`),
      NA_KEY_HISTORY_FILE: historyOut,
      NA_FORMER_PRIVATE_KEY_FILE: this.#at(`${present.key.keyId}.key`),
    }
    return { key: next, publicKey, genesisFile: out, historyFile: historyOut, settings }
  }

  #at(name: string): string {
    return join(this.#folder, name)
  }

  async #write({ keyId, seed }: TestKey): Promise<{ readonly publicKey: string }> {
    const { publicKey } = await testSigner(keyId, seed)
    for (const file of [this.#at(`${keyId}.key`), join(this.#keyFolder, `${keyId}.key`)])
      await writeFile(file, writePrivateKeyFile(testSeed(seed), keyId), { mode: 0o600 })
    await writeFile(this.#at(`${keyId}.pub`), writePublicKeyFile(publicKey, keyId))
    return { publicKey }
  }
}
