import { FormError, JsonError, isKeyId, readJson, readTrustedPublicKey, shape } from '@chancery/protocol'
import type { JsonValue } from '@chancery/protocol'

export const OPERATOR_TIERS = ['standard', 'privileged'] as const
export type OperatorTier = (typeof OPERATOR_TIERS)[number]

export interface ListedOperator {
  readonly key_id: string
  readonly public_key: string
  readonly tier: OperatorTier
  readonly added_at: string | null
}

export interface RemovedOperator {
  readonly key_id: string
  readonly public_key: string
  readonly removed_at: string
}

/** The operators of an authority, in the file that OPERATOR_PUBLIC_KEYS_JSON may name. */
export interface OperatorsFile {
  readonly operators: readonly ListedOperator[]
  /** Former operators. The command line does not add such an id or key again without a flag. */
  readonly removed: readonly RemovedOperator[]
}

const MAX_OPERATORS = 1000

function keyId(value: JsonValue, place: string): string {
  const text = shape.string(value, place)
  if (!isKeyId(text)) throw new FormError(place, 'must be a key id')
  return text
}

function publicKey(value: JsonValue, place: string): string {
  const text = shape.string(value, place)
  if (readTrustedPublicKey(text) === undefined) throw new FormError(place, 'must be an Ed25519 public key in base64')
  return text
}

const readContent = shape.closed({
  operators: shape.required(
    shape.arrayOf(
      shape.closed({
        key_id: shape.required(keyId),
        public_key: shape.required(publicKey),
        tier: shape.required(shape.oneOf(...OPERATOR_TIERS)),
        added_at: shape.withDefault<string | null>(shape.nullable(shape.string), null),
      }),
      { max: MAX_OPERATORS },
    ),
  ),
  removed: shape.withDefault<readonly RemovedOperator[]>(
    shape.arrayOf(
      shape.closed({
        key_id: shape.required(keyId),
        public_key: shape.required(publicKey),
        removed_at: shape.required(shape.string),
      }),
      { max: MAX_OPERATORS },
    ),
    [],
  ),
})

/** Reads the text of an operators file, or throws FormError or JsonError. Each id and each key occurs once. */
export function readOperatorsFile(text: string): OperatorsFile {
  const content = readContent(readJson(text), '')
  for (const name of ['key_id', 'public_key'] as const) {
    const values = content.operators.map((each) => each[name])
    if (new Set(values).size !== values.length) throw new FormError('operators', `one ${name} occurs twice`)
  }
  return content
}

/** True for an error of {@link readOperatorsFile}. Its message names a place and a rule, never a value. */
export function isOperatorsFileError(error: unknown): error is FormError | JsonError {
  return error instanceof FormError || error instanceof JsonError
}

/** Returns the text of the file, one operator per paragraph, for people who read it. */
export function writeOperatorsFile({ operators, removed }: OperatorsFile): string {
  return `${JSON.stringify(removed.length === 0 ? { operators } : { operators, removed }, null, 2)}\n`
}
