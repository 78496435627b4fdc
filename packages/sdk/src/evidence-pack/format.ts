import {
  FormError,
  JsonError,
  asJson,
  canonicalJson,
  digestOf,
  field,
  isJsonObject,
  logIdentityForm,
  readEventLine,
  readGenesisBlock,
  readJson,
  readKeyHistory,
  readReceived,
  shape,
  storeAnchorForm,
} from '@chancery/protocol'
import type { GenesisBlock, JsonObject, JsonValue, KeyHistory, LogIdentity, StoreAnchor } from '@chancery/protocol'
import { VerificationError } from '../errors.ts'

export const EVIDENCE_PACK_FORMAT = 'chancery.evidence-pack'
export const EVIDENCE_PACK_VERSION = 1

/** The inclusion proof of one entry. */
export interface PackProof {
  readonly leaf_index: number
  /** In base64. */
  readonly hashes: readonly string[]
}

/** Where the entries are in the public log. */
export interface PackLog {
  /** The signed note, with the signatures of witnesses if it has any. */
  readonly checkpoint: string
  /** One for each entry, in the same order; null where the checkpoint does not cover the entry. */
  readonly proofs: readonly (PackProof | null)[]
  /** Inclusion proof of the entry that the anchor names; null when the pack has that entry, or there is none. */
  readonly anchor_hashes: readonly string[] | null
  /** Name and keys of the log, signed by the authority; left out when they follow from the genesis block. */
  readonly identity?: LogIdentity
}

/** A key that signed executions of the pack. */
export interface PackExecutorKey {
  readonly key_id: string
  readonly public_key: string
  readonly executor_sovereign_id: string
}

/** The records of a pack. */
export interface PackRecords {
  readonly genesis: GenesisBlock
  readonly key_history: KeyHistory | null
  /** The stored lines of the decision, byte for byte, in store order. */
  readonly entries: readonly string[]
  /** The policies the decision applied, as their authority signed them, in the order of the decision. */
  readonly policies: readonly JsonObject[]
  /** Texts that the policies name by digest, such as Cedar policy sets. */
  readonly policy_texts: readonly string[]
  readonly attestation: JsonObject | null
  readonly agreement: JsonObject | null
  /** The treaty with the partner, for a decision on a member of a partner or on an agreement with it. */
  readonly treaty: JsonObject | null
  /** Only keys that signed an execution of the pack. */
  readonly executor_keys: readonly PackExecutorKey[]
  /** The first anchor at or after the decision. */
  readonly anchor: StoreAnchor | null
  readonly log: PackLog | null
  /** Verifier keys of the witnesses that cosigned the checkpoint. */
  readonly witnesses: readonly string[]
}

/** How many records of each kind a pack has, so that a removed one is detected. */
export interface PackContents {
  readonly decisions: number
  readonly justifications: number
  readonly executions: number
  readonly other_entries: number
  readonly policies: number
  readonly policy_texts: number
  readonly attestations: number
  readonly agreements: number
  readonly treaties: number
  readonly executor_keys: number
  readonly former_keys: number
  readonly anchors: number
  readonly inclusion_proofs: number
  readonly witnesses: number
}

/** One decision with everything that an auditor needs to verify it without a call. */
export interface EvidencePack extends PackRecords {
  readonly contents: PackContents
  /** Digest of everything else: it detects a damaged file. It has no signature and proves nothing more. */
  readonly pack_digest: string
}

/** The text is not an evidence pack, or has a version that this release cannot read. */
export class EvidencePackError extends VerificationError {
  override readonly name = 'EvidencePackError'

  constructor(message: string, options?: ErrorOptions) {
    super('malformed', 'record')
    this.message = message
    if (options?.cause !== undefined) this.cause = options.cause
  }
}

const MAX_ENTRIES = 1000
const MAX_POLICIES = 256
const MAX_WITNESSES = 64
/** A proof in a tree of 2^63 leaves has no more. */
const MAX_HASHES = 64

/** Many times a request of the largest size, which an entry repeats for each gate. */
const MAX_ENTRY_LENGTH = 16 * 1024 * 1024
/** Room for the signatures of the authority and of every witness. Each one costs a verification. */
const MAX_CHECKPOINT_LENGTH = 16 * 1024
const MAX_SIGNATURES = 80
/** The largest text of a pack or of a page that is read. */
export const MAX_PACK_LENGTH: number = 64 * 1024 * 1024

const { arrayOf, closed, nullable, required, string, withDefault } = shape
const texts = (max: number): ReturnType<typeof arrayOf<string>> => arrayOf(string, { max })
const entry = (value: JsonValue, at: string): string => {
  const line = string(value, at)
  if (line.length > MAX_ENTRY_LENGTH) throw new FormError(at, 'the entry is too long')
  return line
}
const checkpoint = (value: JsonValue, at: string): string => {
  const note = string(value, at)
  if (note.length > MAX_CHECKPOINT_LENGTH) throw new FormError(at, 'the checkpoint is too long')
  if (note.split('\n\u2014 ').length - 1 > MAX_SIGNATURES) throw new FormError(at, 'too many signatures')
  return note
}
const count = required(shape.integer(0, Number.MAX_SAFE_INTEGER))
const record = required(nullable(shape.object))
const readParts = closed({
  format: required(shape.oneOf(EVIDENCE_PACK_FORMAT)),
  version: required(shape.integer(EVIDENCE_PACK_VERSION, EVIDENCE_PACK_VERSION)),
  genesis: required((value: JsonValue) => readGenesisBlock(value)),
  key_history: required(nullable((value: JsonValue) => readKeyHistory(value))),
  entries: required(arrayOf(entry, { max: MAX_ENTRIES })),
  policies: required(arrayOf(shape.object, { max: MAX_POLICIES })),
  policy_texts: required(texts(MAX_POLICIES)),
  attestation: record,
  agreement: record,
  treaty: record,
  executor_keys: required(
    arrayOf(
      closed({
        key_id: required(field.identifier),
        public_key: required(field.publicKey),
        executor_sovereign_id: required(field.identifier),
      }),
      { max: MAX_ENTRIES },
    ),
  ),
  anchor: required(nullable((value: JsonValue) => readReceived(storeAnchorForm, value).record)),
  log: required(
    nullable(
      closed({
        checkpoint: required(checkpoint),
        proofs: required(
          arrayOf(nullable(closed({ leaf_index: count, hashes: required(texts(MAX_HASHES)) })), { max: MAX_ENTRIES }),
        ),
        anchor_hashes: required(nullable(texts(MAX_HASHES))),
        identity: withDefault(
          nullable((value: JsonValue): LogIdentity => readReceived(logIdentityForm, value).record),
          null,
        ),
      }),
    ),
  ),
  witnesses: required(texts(MAX_WITNESSES)),
  contents: required(
    closed({
      decisions: count,
      justifications: count,
      executions: count,
      other_entries: count,
      policies: count,
      policy_texts: count,
      attestations: count,
      agreements: count,
      treaties: count,
      executor_keys: count,
      former_keys: count,
      anchors: count,
      inclusion_proofs: count,
      witnesses: count,
    }),
  ),
  pack_digest: required(string),
})

export function isEvidencePack(value: JsonValue): boolean {
  return isJsonObject(value) && value['format'] === EVIDENCE_PACK_FORMAT
}

/** Adds the counts and the digest. */
export function sealPack(records: PackRecords): EvidencePack {
  const counted = { ...records, contents: countContents(records) }
  return { ...counted, pack_digest: digestPack(counted) }
}

/** Returns the canonical text of a pack, with a line feed at its end. The reader accepts no other text. */
export function writePack(pack: EvidencePack): string {
  return `${canonicalJson(asWritten(pack))}\n`
}

/** Reads the form of a pack; `verifyPack` verifies its records. Throws EvidencePackError. */
export function readPack(text: string): EvidencePack {
  if (text.length > MAX_PACK_LENGTH) throw new EvidencePackError('This is not an evidence pack: it is too long.')
  try {
    const { format: _format, version: _version, log, ...rest } = readParts(readJson(text), '')
    const pack = { ...rest, log: withoutNull(log) }
    // Another spelling of the same values would be a change that no check detects.
    if (writePack(pack) !== text) throw new EvidencePackError('The text of the pack was changed: it is not canonical.')
    return pack
  } catch (error) {
    if (error instanceof FormError || error instanceof JsonError)
      throw new EvidencePackError(`This is not an evidence pack: ${error.message}.`, { cause: error })
    throw error
  }
}

/** A pack without an identity of the log has no such member. */
function withoutNull(
  log: (Omit<PackLog, 'identity'> & { readonly identity: LogIdentity | null }) | null,
): PackLog | null {
  if (log === null) return null
  const { identity, ...rest } = log
  return identity === null ? rest : { ...rest, identity }
}

/** Counts the records of each kind. */
export function countContents(pack: PackRecords): PackContents {
  const kinds = pack.entries.map((line) => readEventLine(line)?.entry.entry_kind)
  const ofKind = (kind: string): number => kinds.filter((each) => each === kind).length
  const [decisions, justifications, executions] = [ofKind('decision'), ofKind('justification'), ofKind('execution')]
  const one = (part: object | null): number => (part === null ? 0 : 1)
  const { log } = pack
  const proofs = log?.proofs.filter((proof) => proof !== null).length ?? 0
  return {
    decisions,
    justifications,
    executions,
    other_entries: kinds.length - decisions - justifications - executions,
    policies: pack.policies.length,
    policy_texts: pack.policy_texts.length,
    attestations: one(pack.attestation),
    agreements: one(pack.agreement),
    treaties: one(pack.treaty),
    executor_keys: pack.executor_keys.length,
    former_keys: pack.key_history?.former_keys.length ?? 0,
    anchors: one(pack.anchor),
    inclusion_proofs: proofs + one(log?.anchor_hashes ?? null),
    witnesses: pack.witnesses.length,
  }
}

/** H(C(pack without pack_digest)). */
export function digestPack(pack: PackRecords & Pick<EvidencePack, 'contents'>): string {
  const { pack_digest: _digest, ...rest } = asWritten(pack)
  return digestOf(rest)
}

function asWritten(pack: object): JsonObject {
  return asJson({ ...pack, format: EVIDENCE_PACK_FORMAT, version: EVIDENCE_PACK_VERSION })
}
