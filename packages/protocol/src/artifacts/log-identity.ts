import { FormError, type Read, type ReadBy, described } from '../reading/schema.ts'
import { arrayOf, string } from '../reading/shape.ts'
import { identifier, publicKey, timestamp } from '../reading/text.ts'
import { signedOnceForm, yes } from '../reading/trust-form.ts'
import { isNoteName } from '../evidence-log/note.ts'

/** Longest name of a log. */
export const MAX_ORIGIN_LENGTH = 256
/** The current key, and former ones that still sign. */
const MAX_LOG_KEYS = 8

const origin: Read<string> = described(
  (value, field) => {
    const text = string(value, field)
    if (text.length > MAX_ORIGIN_LENGTH || !isNoteName(text)) throw new FormError(field, 'is not the name of a log')
    return text
  },
  () => ({ type: 'string', minLength: 1, maxLength: MAX_ORIGIN_LENGTH }),
)

export const logIdentityForm = signedOnceForm({
  sovereign_id: yes(identifier),
  /** The name of the log. It never changes after the first entry. */
  origin: yes(origin),
  /** Keys of the log besides those of the authority, the current one first. */
  public_keys: yes(arrayOf(publicKey, { max: MAX_LOG_KEYS })),
  issued_at: yes(timestamp),
  issued_by: yes(identifier),
})

/**
 * The name and the keys of the evidence log of an authority, signed by the authority (protocol/witnesses 2). It binds
 * a log key to the genesis block.
 */
export type LogIdentity = ReadBy<typeof logIdentityForm>
