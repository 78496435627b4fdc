import type { SignerKeys, StoreKeys } from '@chancery/protocol'

export interface ExecutorKey {
  readonly key_id: string
  readonly public_key: string
  readonly executor_sovereign_id: string
}

/** Trusted keys of an audit, as data that can be sent to a thread. */
export interface AuditKeys {
  readonly authority: SignerKeys
  readonly executors: readonly ExecutorKey[]
}

export function keysOf({ authority, executors }: AuditKeys): StoreKeys {
  const byId = new Map(executors.map((key) => [key.key_id, key]))
  return { authority, executor: (key_id) => byId.get(key_id) }
}
