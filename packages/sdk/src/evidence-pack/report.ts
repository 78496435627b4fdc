import type { DecisionMeaning, GenesisBlock, KeyHistory } from '@chancery/protocol'

export type PackCheckName =
  | 'contents'
  | 'genesis'
  | 'root_key'
  | 'key_history'
  | 'decision'
  | 'context'
  | 'justification'
  | 'executions'
  | 'policies'
  | 'policy_texts'
  | 'treaty'
  | 'basis'
  | 'basis_signature'
  | 'inclusion'
  | 'witnesses'
  | 'anchor'

/** unchecked: what the check needs is not in the pack, and was not given. */
export interface PackCheck {
  readonly name: PackCheckName
  readonly status: 'passed' | 'failed' | 'unchecked'
  /** Why it did not pass; null when it did. */
  readonly detail: string | null
}

export interface EvidencePackReport {
  /** No check failed, and the root key is the trusted one. Without a trusted block or root key no pack is valid. */
  readonly valid: boolean
  readonly network: string
  /** Compare it with the one you were given. */
  readonly root_public_key: string
  readonly decision_id: string | null
  readonly result: DecisionMeaning | null
  /** Store sequences of the executions that are in the log, or signed by a trusted executor key. */
  readonly proven_executions: readonly number[]
  readonly checks: readonly PackCheck[]
  /** What a valid pack does not prove, as sentences. */
  readonly not_proven: readonly string[]
}

/** What the reader trusts. Everything else is in the pack. */
export interface PackTrust {
  /** The genesis block that the reader trusts. */
  readonly genesis?: GenesisBlock | undefined
  /** Former keys, signed by the root of the trusted block. A pack with an earlier block needs them. */
  readonly keyHistory?: KeyHistory | undefined
  /** Instead of the block: the root key that the reader trusts. It does not prove that the block is still in force. */
  readonly rootKey?: string | undefined
  /** The name of the network: one root key can sign the blocks of several. */
  readonly network?: string | undefined
  /** Public keys of executors by key id. With them, every execution must be signed by one of these. */
  readonly executorKeys?: ReadonlyMap<string, string> | undefined
  /** Verifier keys of witnesses. With them, the witnesses of the pack must be among these, and at least one cosigned. */
  readonly witnesses?: readonly string[] | undefined
}
