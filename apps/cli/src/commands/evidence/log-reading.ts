import { allAuthorityKeys, logOrigin, nodesFromTiles, openCheckpoint } from '@chancery/protocol'
import type { LogCheckpoint, NodeReader } from '@chancery/protocol'
import type { Client } from '@chancery/sdk'
import type { Connection } from '../../connection.ts'
import { Failure, misuse } from '../../failure.ts'

export interface SeenCheckpoint extends LogCheckpoint {
  /** The note as the authority signed it. */
  readonly note: string
}

/** Who may sign the log; without a pinned key a forger would be believed. */
export function logTrust({ genesis, authorityKey, followed }: Connection): {
  readonly origin: string
  readonly keys: readonly string[]
} {
  if (genesis === undefined || authorityKey === undefined)
    throw misuse('The authority is not pinned.', 'Give a configuration with paths.genesis.')
  return {
    origin: logOrigin(genesis.network_name),
    keys: followed === undefined ? [authorityKey] : allAuthorityKeys(followed.keys),
  }
}

export async function fetchCheckpoint(connection: Connection): Promise<SeenCheckpoint> {
  const { origin, keys } = logTrust(connection)
  const note = await connection.ask((client) => client.evidenceLog.checkpoint())
  const opened = await openByAny(note, origin, keys)
  if (opened === undefined)
    throw new Failure({
      code: 'invalid_checkpoint',
      message: `${connection.url} gives a checkpoint that ${origin} did not sign.`,
      hint: 'Do not trust this log. Keep the note, and compare the genesis block.',
    })
  return { ...opened, note }
}

/** A note kept from before a succession is of a former key. */
export async function openByAny(
  note: string,
  origin: string,
  keys: readonly string[],
): Promise<LogCheckpoint | undefined> {
  for (const key of keys) {
    const opened = await openCheckpoint(note, origin, key)
    if (opened !== undefined) return opened
  }
  return undefined
}

/** The tree of a checkpoint, out of public tiles. What they say is believed only as far as it leads to a signed root. */
export function treeOf(client: Client, size: number): NodeReader {
  return nodesFromTiles(size, (name) => client.evidenceLog.tile(name))
}
