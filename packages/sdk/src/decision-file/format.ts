import {
  FormError,
  JsonError,
  asJson,
  canonicalJson,
  isJsonObject,
  readGenesisBlock,
  readJson,
  readKeyHistory,
  readReceived,
  shape,
  storeAnchorForm,
} from '@chancery/protocol'
import type { GenesisBlock, JsonObject, JsonValue, KeyHistory, StoreAnchor } from '@chancery/protocol'

export const DECISION_FILE_FORMAT = 'chancery.decision-file'
export const DECISION_FILE_VERSION = 1

/** Where the decision is in the public log. */
export interface DecisionFileLog {
  /** The signed note. */
  readonly checkpoint: string
  readonly leaf_index: number
  /** Inclusion proof of the entry of the decision, in base64. */
  readonly hashes: readonly string[]
  /** Inclusion proof of the entry that the anchor names, under the same checkpoint; null when there is none. */
  readonly anchor_hashes: readonly string[] | null
}

/** A decision with everything that an auditor needs to verify it without a call. */
export interface DecisionFile {
  readonly genesis: GenesisBlock
  readonly key_history: KeyHistory | null
  /** The stored lines of the decision, byte for byte, in store order. */
  readonly entries: readonly string[]
  /** The policies the decision applied, as their authority signed them. */
  readonly policies: readonly JsonObject[]
  /** Texts that the policies name by digest, such as Cedar policy sets; absent where they name none. */
  readonly policy_texts?: readonly string[]
  readonly attestation: JsonObject | null
  readonly agreement: JsonObject | null
  /** The first anchor at or after the decision. */
  readonly anchor: StoreAnchor | null
  readonly log: DecisionFileLog | null
}

/** The text is not a decision file, or of a version that this release cannot read. */
export class DecisionFileError extends Error {
  override readonly name = 'DecisionFileError'
}

const MAX_ENTRIES = 1000
const MAX_POLICIES = 256
/** A proof in a tree of 2^63 leaves has no more. */
const MAX_HASHES = 64

const texts = (max: number): ReturnType<typeof shape.arrayOf<string>> => shape.arrayOf(shape.string, { max })
const record = shape.nullable(shape.object)
const readFile = shape.closed({
  format: shape.required(shape.oneOf(DECISION_FILE_FORMAT)),
  version: shape.required(shape.integer(DECISION_FILE_VERSION, DECISION_FILE_VERSION)),
  genesis: shape.required((value: JsonValue) => readGenesisBlock(value)),
  key_history: shape.required(shape.nullable((value: JsonValue) => readKeyHistory(value))),
  entries: shape.required(texts(MAX_ENTRIES)),
  policies: shape.required(shape.arrayOf(shape.object, { max: MAX_POLICIES })),
  policy_texts: shape.withDefault(texts(MAX_POLICIES), []),
  attestation: shape.required(record),
  agreement: shape.required(record),
  anchor: shape.required(shape.nullable((value: JsonValue) => readReceived(storeAnchorForm, value).record)),
  log: shape.required(
    shape.nullable(
      shape.closed({
        checkpoint: shape.required(shape.string),
        leaf_index: shape.required(shape.integer(0, Number.MAX_SAFE_INTEGER)),
        hashes: shape.required(texts(MAX_HASHES)),
        anchor_hashes: shape.withDefault(shape.nullable(texts(MAX_HASHES)), null),
      }),
    ),
  ),
})

export function isDecisionFile(value: JsonValue): value is JsonObject {
  return isJsonObject(value) && value['format'] === DECISION_FILE_FORMAT
}

/** The canonical text of a file. */
export function writeDecisionFile(file: DecisionFile): string {
  const { log, policy_texts = [], ...rest } = file
  // Files of other decisions stay as they were, and readable for earlier releases.
  const named = policy_texts.length === 0 ? {} : { policy_texts }
  return canonicalJson(asJson({ ...rest, ...named, log, format: DECISION_FILE_FORMAT, version: DECISION_FILE_VERSION }))
}

/** Reads the form of a file; whether it is true, `checkDecisionFile` finds out. Throws DecisionFileError. */
export function readDecisionFile(value: JsonValue | string): DecisionFile {
  try {
    const {
      format: _format,
      version: _version,
      ...file
    } = readFile(typeof value === 'string' ? readJson(value) : value, '')
    return file
  } catch (error) {
    if (error instanceof FormError || error instanceof JsonError)
      throw new DecisionFileError(`This is not a decision file: ${error.message}.`, { cause: error })
    throw error
  }
}
