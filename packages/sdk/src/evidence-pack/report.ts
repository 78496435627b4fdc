import type { DecisionMeaning, GenesisBlock } from '@chancery/protocol'

export type PackCheckName =
  | 'contents'
  | 'genesis'
  | 'root_key'
  | 'key_history'
  | 'decision'
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
  /** No check failed, and the decision itself was checked. */
  readonly valid: boolean
  readonly network: string
  /** Compare it with the one you were given. */
  readonly root_public_key: string
  readonly decision_id: string | null
  readonly result: DecisionMeaning | null
  readonly checks: readonly PackCheck[]
  /** What a valid pack does not prove, as sentences. */
  readonly not_proven: readonly string[]
}

/** What the reader trusts. Everything else is in the pack. */
export interface PackTrust {
  /** The genesis block that the reader trusts. */
  readonly genesis?: GenesisBlock | undefined
  /** Instead of the block: the root key that the reader trusts. */
  readonly rootKey?: string | undefined
  /** Public keys of executors by key id. With them, the keys of the pack must be among these. */
  readonly executorKeys?: ReadonlyMap<string, string> | undefined
  /** Verifier keys of witnesses. With them, the witnesses of the pack must be among these. */
  readonly witnesses?: readonly string[] | undefined
}
