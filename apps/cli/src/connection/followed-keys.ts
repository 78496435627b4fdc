import { dirname, join } from 'node:path'
import type { GenesisBlock } from '@chancery/protocol'
import { FollowedKeys } from '@chancery/sdk/internal'
import { CommandError, usageError } from '../errors/failure.ts'
import { FOR_ALL, errorCode, readText, replaceFile } from '../files/files.ts'

/** Whether an address is of this machine. Plain HTTP to it does not leave the machine. */
export function isLocal({ hostname }: URL): boolean {
  return /^(?:localhost|127\.[0-9.]+|\[::1\])$/.test(hostname)
}

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

/** Without a pin, the server would confirm its own records. */
export function requireFollowedKeys(followed: FollowedKeys | undefined): FollowedKeys {
  if (followed !== undefined) return followed
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
