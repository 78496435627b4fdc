import { Refusal } from '@chancery/contract'
import {
  type ApprovalSigner,
  type Attestation,
  type ApprovalRequest,
  type Instant,
  type JsonObject,
  type VerifiedApprover,
  asJson,
  canonicalJson,
  instantOf,
  isPresentedInForce,
  meetsAny,
  readAttestation,
  readJson,
} from '@chancery/protocol'
import { checkRevoked, listRevokedKeys } from '../../auth/operator-keys.ts'
import type { OperatorCall } from '../../auth/operator.ts'
import { loadPresented, readAttestationId, readPresented } from '../presented/index.ts'
import type { PresentedRequest } from '../presented/index.ts'
import type { ApprovalsParts } from './approvals-parts.ts'
import type { StatementRow } from './queries.ts'

/** A signer as the authority knows it, with what its evidence says. */
export interface KnownSigner {
  readonly signer: ApprovalSigner
  readonly approver: VerifiedApprover
  /** Of a member of a partner: it is stored nowhere else. */
  readonly attestation_json: string | null
}

/** The operator that calls. */
export function operatorSigner({ operator }: OperatorCall, { network }: Pick<ApprovalsParts, 'network'>): KnownSigner {
  const { key_id: id, publicKey: public_key, tier } = operator
  return {
    signer: { kind: 'operator', id, public_key, tier },
    approver: {
      kind: 'operator',
      id,
      sovereign_id: network.name,
      public_key,
      attestation_digest: null,
      treaty_id: null,
    },
    attestation_json: null,
  }
}

/** Which attestation a caller has: an own one by its id, or one of a partner. */
export type AttestedRequest =
  | { readonly kind: 'own'; readonly attestation_id: string }
  | ({ readonly kind: 'presented' } & PresentedRequest)

export function readAttested(body: JsonObject, own: string): AttestedRequest {
  const { attestation_id = null, presented = null } = body
  if ((attestation_id === null) === (presented === null)) throw new Refusal('ambiguous_basis')
  if (attestation_id !== null) return { kind: 'own', attestation_id: readAttestationId(attestation_id) }
  return { kind: 'presented', ...readPresented(presented, own) }
}

/** The signer behind an attestation, or undefined when it is not in force. */
export async function findSigner(parts: ApprovalsParts, asked: AttestedRequest): Promise<KnownSigner | undefined> {
  return asked.kind === 'own' ? findMember(parts, asked.attestation_id) : findPartnerMember(parts, asked)
}

async function findMember(parts: ApprovalsParts, attestation_id: string): Promise<KnownSigner | undefined> {
  const state = await parts.attestations.reader.find(attestation_id)
  const { attestation, isSigned, attestation_digest } = state?.checked ?? {}
  if (state === undefined || attestation === undefined || isSigned !== true) return undefined
  const isOwn =
    attestation.attestation_id === attestation_id &&
    attestation.issuer_sovereign_id === parts.network.name &&
    state.stored.issuer_sovereign_id === parts.network.name
  const isActive = !state.stored.isRevoked && state.stored.status === 'active' && attestation.status === 'active'
  if (!isOwn || !isActive || !isCurrent(attestation, parts.clock.now())) return undefined
  return toSigner('member', attestation, attestation_digest ?? null, null)
}

async function findPartnerMember(
  parts: ApprovalsParts,
  asked: PresentedRequest & { readonly kind: 'presented' },
): Promise<KnownSigner | undefined> {
  const basis = await loadPresented(parts, asked, undefined)
  if (basis.failure !== undefined || !isPresentedInForce(basis, parts.clock.now())) return undefined
  const { attestation, attestation_digest, treaty } = basis
  const known = toSigner('partner', attestation, attestation_digest, treaty?.treaty_id ?? null)
  return known && { ...known, attestation_json: canonicalJson(asJson(attestation)) }
}

function isCurrent({ valid_from, expires_at }: Attestation, now: Instant): boolean {
  return instantOf(valid_from) <= now && now < instantOf(expires_at)
}

/** Undefined for an attestation that names no key: nothing can be signed for it. */
function toSigner(
  kind: 'member' | 'partner',
  attestation: Attestation,
  attestation_digest: string | null,
  treaty_id: string | null,
): KnownSigner | undefined {
  const { attestation_id: id, subject_id, issuer_sovereign_id: sovereign_id, roles, subject_public_key } = attestation
  if (subject_public_key === null) return undefined
  return {
    signer: { kind, id, public_key: subject_public_key, sovereign_id, subject_id, roles },
    approver: { kind, id, sovereign_id, public_key: subject_public_key, attestation_digest, treaty_id },
    attestation_json: null,
  }
}

/**
 * Whether an approver still is one: its key or attestation is in force and still meets a requirement. Read before the
 * locks; a revocation that is stored later makes the decision be made again.
 */
export async function isStillApprover(
  parts: ApprovalsParts,
  request: ApprovalRequest,
  row: StatementRow,
): Promise<boolean> {
  const then = JSON.parse(row.signer_json) as ApprovalSigner
  const now = then.kind === 'operator' ? await findOperator(parts, then.id) : await findAgain(parts, row, then)
  return now !== undefined && now.public_key === then.public_key && meetsAny(request, now)
}

async function findOperator(parts: ApprovalsParts, key_id: string): Promise<ApprovalSigner | undefined> {
  const key = parts.operators.get(key_id)
  if (key === undefined || checkRevoked(await listRevokedKeys(parts.database.read))(key)) return undefined
  return { kind: 'operator', id: key_id, public_key: key.publicKey, tier: key.tier }
}

async function findAgain(
  parts: ApprovalsParts,
  { attestation_json }: StatementRow,
  { id }: ApprovalSigner,
): Promise<ApprovalSigner | undefined> {
  if (attestation_json === null) return (await findMember(parts, id))?.signer
  const attestation = readAttestation(readJson(attestation_json))
  const known = await findPartnerMember(parts, { kind: 'presented', attestation, treaty_id: undefined })
  return known?.signer
}

/** An unknown attestation and one of another key have the same response, so that ids cannot be probed. */
export function requireKey(known: KnownSigner | undefined, key: string): KnownSigner {
  if (known?.signer.public_key !== key) throw new Refusal('attestation_not_bound')
  return known
}
