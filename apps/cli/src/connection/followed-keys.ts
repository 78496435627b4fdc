import { dirname, join, resolve } from 'node:path'
import type { GenesisBlock } from '@chancery/protocol'
import { FollowedKeys } from '@chancery/sdk'
import type { Options } from '../arguments/options.ts'
import type { CommandContext } from '../context.ts'
import { CommandError, usageError } from '../errors/failure.ts'
import { FOR_ALL, errorCode, readText, replaceFile } from '../files/files.ts'
import { loadVerifiedGenesis } from '../files/genesis-file.ts'

/** Returns the file next to a genesis block with the newest block of its root and the key history. */
export function keysFileOf(genesisFile: string): string {
  return join(dirname(genesisFile), 'keys.json')
}

/**
 * Returns the keys of the authority that a genesis block pins, with later keys from the saved file. Only records signed
 * by the root count, so the file needs no special protection.
 */
export function openFollowedKeys(pinned: GenesisBlock, keysFile: string | undefined): Promise<FollowedKeys> {
  return FollowedKeys.open(pinned, {
    read: () => (keysFile === undefined ? Promise.resolve(undefined) : readIfThere(keysFile)),
    write: (_document, text) =>
      keysFile === undefined ? Promise.resolve() : replaceFile(keysFile, `${text}\n`, FOR_ALL),
  })
}

/**
 * Returns the keys of --genesis, or else the configured ones. Without a pin, the server would confirm its own records.
 */
export async function requireFollowedKeys(
  { cwd }: CommandContext,
  options: Options,
  configured: FollowedKeys | undefined,
): Promise<FollowedKeys> {
  const file = options.text('genesis')
  if (file !== undefined) {
    const path = resolve(cwd, file)
    return openFollowedKeys(await loadVerifiedGenesis(path), keysFileOf(path))
  }
  if (configured !== undefined) return configured
  throw usageError(
    'No genesis block pins the authority.',
    'Give --genesis <file>, or a configuration with paths.genesis.',
  )
}

function readIfThere(file: string): Promise<string | undefined> {
  return readText(file).catch((error: unknown) => {
    if (error instanceof CommandError && errorCode(error.cause) === 'ENOENT') return undefined
    throw error
  })
}
