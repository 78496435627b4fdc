import { isJsonObject, readJson, JsonError, writeJson } from '@chancery/protocol'
import type { DsseEnvelope, JsonObject, JsonValue } from '@chancery/protocol'
import { VerificationError } from '../errors.ts'

/** `dsse`: the envelope alone. `sigstore`: the envelope in a Sigstore bundle 0.3. */
export const BUNDLE_FORMS = ['sigstore', 'dsse'] as const
export type BundleForm = (typeof BUNDLE_FORMS)[number]

const MEDIA_TYPE = 'application/vnd.dev.sigstore.bundle.v0.3+json'

/** A decision record has at most some hundred KiB. */
export const MAX_BUNDLE_LENGTH = 4_194_304

/** The text is not a bundle as {@link writeBundle} writes it. */
export class DecisionBundleError extends VerificationError {
  override readonly name = 'DecisionBundleError'

  constructor(message: string) {
    super('malformed', 'boundary-decision')
    this.message = message
  }
}

/** One line of JSON. A reader accepts no other text of the same envelope. */
export function writeBundle(envelope: DsseEnvelope, form: BundleForm): string {
  const {
    payload,
    payloadType,
    signatures: [{ keyid, sig }],
  } = envelope
  const dsse = { payload, payloadType, signatures: [{ keyid, sig }] }
  if (form === 'dsse') return `${writeJson(dsse)}\n`
  // No log and no timestamp: the time of a decision is a statement of its authority, and the key is pinned.
  const verificationMaterial = { publicKey: { hint: keyid }, tlogEntries: [] }
  return `${writeJson({ mediaType: MEDIA_TYPE, verificationMaterial, dsseEnvelope: dsse })}\n`
}

/** Reads either form. Throws {@link DecisionBundleError}. */
export function readBundle(text: string): { readonly envelope: DsseEnvelope; readonly form: BundleForm } {
  if (text.length > MAX_BUNDLE_LENGTH) throw new DecisionBundleError('the bundle is too large')
  const value = parse(text)
  const form: BundleForm = Object.hasOwn(value, 'dsseEnvelope') ? 'sigstore' : 'dsse'
  const envelope = readDsseEnvelope(form === 'sigstore' ? value['dsseEnvelope'] : value)
  if (envelope === undefined) throw new DecisionBundleError('this is not a DSSE envelope with one signature')
  // A changed hint, space or unknown member is covered by no signature.
  if (writeBundle(envelope, form) !== text) throw new DecisionBundleError('the text was changed')
  return { envelope, form }
}

/** Undefined unless it has a payload and exactly one signature with a key id. Other members are ignored. */
export function readDsseEnvelope(value: JsonValue | undefined): DsseEnvelope | undefined {
  if (!isJsonObject(value)) return undefined
  const { payload, payloadType, signatures } = value
  const [signature, ...more] = Array.isArray(signatures) ? (signatures as readonly JsonValue[]) : []
  if (more.length > 0 || !isJsonObject(signature)) return undefined
  const { keyid, sig } = signature
  if (![payload, payloadType, keyid, sig].every((each) => typeof each === 'string')) return undefined
  return {
    payload: payload as string,
    payloadType: payloadType as string,
    signatures: [{ keyid: keyid as string, sig: sig as string }],
  }
}

function parse(text: string): JsonObject {
  try {
    const value = readJson(text)
    if (isJsonObject(value)) return value
  } catch (error) {
    if (!(error instanceof JsonError)) throw error
  }
  throw new DecisionBundleError('this is not a JSON object')
}
