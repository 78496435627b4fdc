import { allAuthorityKeys, logOrigin, nodesFromTiles, openCheckpointByAny } from '@chancery/protocol'
import type { LogCheckpoint, NodeReader } from '@chancery/protocol'
import type { Client } from '@chancery/sdk'
import type { Connection } from '../../connection/connection.ts'
import { CommandError, usageError } from '../../errors/failure.ts'

export interface SeenCheckpoint extends LogCheckpoint {
  /** The note as the authority signed it. */
  readonly note: string
}

/** Returns the keys that may sign the log. Without a pinned key a forged log would be accepted. */
export function logTrust({ genesis, authorityKey, followed }: Connection): {
  readonly origin: string
  readonly keys: readonly string[]
} {
  if (genesis === undefined || authorityKey === undefined)
    throw usageError('The authority is not pinned.', 'Give a configuration with paths.genesis.')
  return {
    origin: logOrigin(genesis.network_name),
    keys: followed === undefined ? [authorityKey] : allAuthorityKeys(followed.keys),
  }
}

export async function fetchCheckpoint(connection: Connection): Promise<SeenCheckpoint> {
  const { origin, keys } = logTrust(connection)
  const note = await connection.ask((client) => client.evidenceLog.checkpoint())
  const opened = await openCheckpointByAny(note, origin, keys)
  if (opened === undefined)
    throw new CommandError({
      code: 'invalid_checkpoint',
      message: `${connection.url} gives a checkpoint that ${origin} did not sign.`,
      hint: 'Do not trust this log. Save the checkpoint and compare the genesis block.',
    })
  return { ...opened, note }
}

/** Reads the tree of a checkpoint from public tiles. Tiles count only if they match the signed root. */
export function treeOf(client: Client, size: number): NodeReader {
  return nodesFromTiles(size, (name) => client.evidenceLog.tile(name))
}
