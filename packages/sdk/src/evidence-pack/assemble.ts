import {
  agreementRecordForm,
  asJson,
  compareCodePoints,
  executionEvidenceForm,
  inclusionProof,
  logOrigin,
  nodesFromTiles,
  openLog,
  readAttestation,
  readEventLine,
  readReceived,
  receivedBytes,
  signedBytes,
  toBase64,
  verifyAny,
} from '@chancery/protocol'
import type { AuthorityKeys, JsonValue, LogIdentity, Signature, StoreAnchor, TileReader } from '@chancery/protocol'
import { type EvidencePack, type PackExecutorKey, type PackLog, type PackRecords, sealPack } from './format.ts'
import { attestationKeys, partyKeys, tryRead } from './check-basis.ts'

/**
 * The basis with the signatures that keys of the pack verify. Others prove nothing to its reader, and are left out. An
 * agreement without such a signature is left out, because the decision names it by its id only. An own attestation
 * without one is left out too, because its authority signs every attestation.
 */
async function verifiableBasis(
  pack: Pick<EvidencePack, 'treaty' | 'attestation' | 'agreement'>,
  keys: AuthorityKeys,
): Promise<Pick<EvidencePack, 'attestation' | 'agreement'>> {
  const attestation = tryRead(readAttestation, pack.attestation)
  const agreement = tryRead((value) => readReceived(agreementRecordForm, value), pack.agreement)
  const keep = async (found: readonly Signature[], message: Uint8Array, signers: readonly string[]) => {
    const results = await Promise.all(found.map((each) => verifyAny(message, [each], signers)))
    return found.filter((_, at) => results[at]) as unknown as JsonValue
  }
  if (attestation !== undefined && pack.attestation !== null) {
    const message = signedBytes(asJson(attestation), 'signatures')
    const signatures = await keep(attestation.signatures, message, attestationKeys(pack, attestation, keys))
    const isOwn = attestation.issuer_sovereign_id === keys.genesis.network_name
    const isUnsigned = Array.isArray(signatures) && signatures.length === 0
    return {
      attestation: isOwn && isUnsigned ? null : { ...pack.attestation, signatures },
      agreement: pack.agreement,
    }
  }
  if (agreement === undefined || pack.agreement === null) return pack
  const { offerer_sovereign_id, responder_sovereign_id } = agreement.record
  const known = [offerer_sovereign_id, responder_sovereign_id].flatMap((party) => partyKeys(pack, keys)(party).keys)
  const signatures = await keep(agreement.record.signatures, receivedBytes(agreement), known)
  const isSigned = Array.isArray(signatures) && signatures.length > 0
  return { attestation: pack.attestation, agreement: isSigned ? { ...pack.agreement, signatures } : null }
}

/** The records as an authority gave them, and how to read its public log. */
export interface PackParts extends Omit<PackRecords, 'log' | 'executor_keys' | 'witnesses'> {
  /** All keys that are known; only those that signed an execution become part of the pack. */
  readonly executorKeys: readonly PackExecutorKey[]
  /** The signed note; undefined when there is none. */
  readonly checkpoint: string | undefined
  readonly witnesses?: readonly string[] | undefined
  /** Name and keys of the log as the authority signed them. */
  readonly logIdentity?: LogIdentity | null | undefined
  readonly readTile: TileReader
}

/** Makes a pack: leaves out what is not used, computes the inclusion proofs, and adds the counts and the digest. */
export async function createPack(parts: PackParts): Promise<EvidencePack> {
  const { executorKeys, checkpoint, witnesses = [], logIdentity, readTile, ...records } = parts
  const { genesis, key_history: history, entries } = records
  const keys = history === null ? { genesis } : { genesis, history }
  const proven =
    checkpoint === undefined
      ? null
      : await proveEntries(checkpoint, keys, { entries, anchor: records.anchor, logIdentity, readTile })
  // An anchor whose entry is not in the pack and not in the proven tree says nothing about the decision.
  const isNamed = entries.some((line) => readEventLine(line)?.entry.store_sequence === records.anchor?.store_sequence)
  const anchor = isNamed || (proven?.anchor_hashes ?? null) !== null ? records.anchor : null
  const basis = await verifiableBasis(records, keys)
  const used = new Set(entries.map(signerOf))
  const executor_keys = executorKeys
    .filter(({ key_id }) => used.has(key_id))
    .map(({ key_id, public_key, executor_sovereign_id }) => ({ key_id, public_key, executor_sovereign_id }))
    .toSorted((first, second) => compareCodePoints(first.key_id, second.key_id))
  return sealPack({
    ...records,
    ...basis,
    anchor,
    executor_keys,
    log: proven,
    witnesses: proven === null ? [] : witnesses,
  })
}

/** The key id on the signature of an execution. */
function signerOf(line: string): string | undefined {
  const event = readEventLine(line)
  if (event?.entry.entry_kind !== 'execution') return undefined
  return readReceived(executionEvidenceForm, event.payload).record.signature?.key_id
}

/** Null when the checkpoint cannot be verified, or covers no entry of the pack. */
async function proveEntries(
  checkpoint: string,
  keys: AuthorityKeys,
  parts: Pick<PackParts, 'entries' | 'logIdentity' | 'readTile'> & { readonly anchor: StoreAnchor | null },
): Promise<PackLog | null> {
  const identity = neededIdentity(parts.logIdentity, keys)
  const { size } = (await openLog(checkpoint, keys, identity)) ?? { size: 0 }
  const sequences = parts.entries.map((line) => readEventLine(line)?.entry.store_sequence ?? 0)
  if (!sequences.some((sequence) => sequence > 0 && sequence <= size)) return null
  const tree = nodesFromTiles(size, parts.readTile)
  const prove = async (index: number): Promise<readonly string[]> =>
    (await inclusionProof(index, size, tree)).map((hash) => toBase64(hash))
  const proofs: PackLog['proofs'][number][] = []
  for (const sequence of sequences)
    proofs.push(sequence > size ? null : { leaf_index: sequence - 1, hashes: await prove(sequence - 1) })
  const anchored = parts.anchor?.store_sequence
  const isElsewhere = anchored !== undefined && anchored <= size && !sequences.includes(anchored)
  const anchor_hashes = isElsewhere ? await prove(anchored - 1) : null
  return { checkpoint, proofs, anchor_hashes, ...(identity === undefined ? {} : { identity }) }
}

/** Left out when name and keys of the log follow from the genesis block, so that earlier releases read the pack. */
function neededIdentity(identity: LogIdentity | null | undefined, { genesis }: AuthorityKeys): LogIdentity | undefined {
  if (identity === null || identity === undefined) return undefined
  const isUsual = identity.origin === logOrigin(genesis.network_name) && identity.public_keys.length === 0
  return isUsual ? undefined : identity
}
