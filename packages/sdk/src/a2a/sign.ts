import { MAX_CARRIED_CHARACTERS, signJws, toUtf8 } from '@chancery/protocol'
import type { JoinCertificate, JsonObject, Signer } from '@chancery/protocol'
import { UsageError } from '../errors.ts'
import { CERTIFICATE_EXTENSION, carriedRecord, withExtension } from './extensions.ts'
import { canonicalCard, cardProblems } from './form.ts'

/** Who signs a card: the node key, and the certificate that names it. */
export interface CardSigner {
  readonly signer: Signer
  readonly certificate: JoinCertificate
  /** The address of the revocation list of the network, for readers. */
  readonly crl?: string
}

/** A card cannot be signed; each problem names the member and what to change. */
export class CardFormError extends UsageError {
  override readonly name = 'CardFormError'
  readonly problems: readonly string[]

  constructor(problems: readonly string[]) {
    super(`the card cannot be signed: ${problems.join('; ')}`)
    this.problems = problems
  }
}

/**
 * Returns the card with the certificate of the node and its signature (docs/agent-cards.md). Former signatures are left
 * out: they do not cover the certificate. Throws {@link CardFormError} for a card whose signed bytes readers would
 * write differently.
 */
export async function signAgentCard(card: JsonObject, { signer, certificate, crl }: CardSigner): Promise<JsonObject> {
  if (certificate.node_public_key !== signer.publicKey) throw new UsageError('the certificate is of another key')
  const text = carriedRecord(certificate)
  if (text.length > MAX_CARRIED_CHARACTERS) throw new UsageError('the certificate is too long for a card')
  const params = { network: certificate.network_name, certificate: text, ...(crl === undefined ? {} : { crl }) }
  const { signatures: _former, ...unsigned } = card
  const described = withExtension(unsigned, {
    uri: CERTIFICATE_EXTENSION,
    description: 'Join certificate of the signing key',
    params,
  })
  const problems = cardProblems(described)
  if (problems.length > 0) throw new CardFormError(problems)
  const header = { kid: certificate.cert_id, typ: 'JOSE' }
  const jws = await signJws(header, toUtf8(canonicalCard(described)), signer)
  return { ...described, signatures: [{ protected: jws.protected, signature: jws.signature }] }
}
