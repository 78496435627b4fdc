import { toBase64 } from '../canonical/base64.ts'
import { sha256 } from '../canonical/digest.ts'
import { type Signer, readPublicKey, verifySignature } from '../signing/keys.ts'
import { type Cbor, type CborMap, readCbor, writeCbor } from './cbor.ts'
import { HASH_BYTES, inclusionRoot } from './tree.ts'

/** A receipt of inclusion as COSE_Sign1 (RFC 9942), without its signature. */
export interface ReceiptFacts {
  /** The log. */
  readonly issuer: string
  /** What the entry is about, as a URI. */
  readonly subject: string
  readonly size: number
  readonly index: number
  readonly proof: readonly Uint8Array[]
}

export interface Receipt extends ReceiptFacts {
  /** Thumbprint of the key (RFC 9679); it selects a key and proves nothing. */
  readonly keyId: Uint8Array
  /** The protected header as it was signed. */
  readonly header: Uint8Array
  readonly signature: Uint8Array
}

const COSE_SIGN1 = 18
const [ALG, KID, CWT, VDS, VDP] = [1, 4, 15, 395, 396]
const [ISSUER, SUBJECT] = [1, 2]
const EDDSA = -8
const ED25519 = -19
/** The tree of RFC 9162 with SHA-256, which is the tree of the log. */
const RFC9162_SHA256 = 1
const INCLUSION = -1
const MAX_HASHES = 64
/** Longest receipt that is read. */
const MAX_RECEIPT_BYTES = 16 * 1024

/** The key as COSE names it: SHA-256 over its deterministic form (RFC 9679). */
export function coseThumbprint(publicKey: string): Uint8Array {
  const x = readPublicKey(publicKey)
  if (x === undefined) throw new TypeError('a public key is 32 bytes in base64')
  return sha256(
    writeCbor(
      new Map<number, Cbor>([
        [1, 1],
        [-1, 6],
        [-2, x],
      ]),
    ),
  )
}

/** Signs that a leaf is in the tree of this root. RFC 9942 has no receipt for a tree of one leaf. */
export async function signReceipt(facts: ReceiptFacts, root: Uint8Array, signer: Signer): Promise<Uint8Array> {
  const { issuer, subject, size, index, proof } = facts
  if (proof.length === 0) throw new RangeError('a log of one entry has no receipt')
  const header = writeCbor(
    new Map<number, Cbor>([
      [ALG, EDDSA],
      [KID, coseThumbprint(signer.publicKey)],
      [
        CWT,
        new Map<number, Cbor>([
          [ISSUER, issuer],
          [SUBJECT, subject],
        ]),
      ],
      [VDS, RFC9162_SHA256],
    ]),
  )
  const signature = await signer.sign(toBeSigned(header, root))
  const proofs = new Map<number, Cbor>([[INCLUSION, [writeCbor([size, index, proof])]]])
  return writeCbor({ tag: COSE_SIGN1, value: [header, new Map<number, Cbor>([[VDP, proofs]]), null, signature] })
}

/** Undefined for anything else than a receipt of inclusion in our form. */
export function readReceipt(bytes: Uint8Array): Receipt | undefined {
  const outer = bytes.length > MAX_RECEIPT_BYTES ? undefined : readCbor(bytes)
  if (outer === undefined || !isTag(outer) || outer.tag !== COSE_SIGN1 || !isList(outer.value)) return undefined
  const [header, open, payload, signature, ...rest] = outer.value
  if (!isBytes(header) || !isMap(open) || payload !== null || !isBytes(signature) || rest.length > 0) return undefined
  const facts = readHeader(header)
  const proof = readProof(open)
  if (facts === undefined || proof === undefined || signature.length !== 64) return undefined
  return { ...facts, ...proof, header, signature }
}

/** True when the key signed that this leaf is at its place in the tree of the receipt. */
export async function verifyReceipt(receipt: Receipt, leafHash: Uint8Array, publicKey: string): Promise<boolean> {
  const { index, size, proof, header, signature, keyId } = receipt
  const root = inclusionRoot({ index, size, leafHash, proof })
  if (root === undefined || toBase64(coseThumbprint(publicKey)) !== toBase64(keyId)) return false
  return verifySignature(publicKey, toBeSigned(header, root), toBase64(signature))
}

function readHeader(header: Uint8Array): Pick<Receipt, 'keyId' | 'issuer' | 'subject'> | undefined {
  const map = readCbor(header)
  if (map === undefined || !isMap(map) || map.size !== 4) return undefined
  const [alg, keyId, claims, tree] = [ALG, KID, CWT, VDS].map((name) => map.get(name))
  const isKnown = (alg === EDDSA || alg === ED25519) && tree === RFC9162_SHA256
  if (!isKnown || !isBytes(keyId) || !isMap(claims) || claims.size !== 2) return undefined
  const [issuer, subject] = [claims.get(ISSUER), claims.get(SUBJECT)]
  return typeof issuer === 'string' && typeof subject === 'string' ? { keyId, issuer, subject } : undefined
}

function readProof(open: CborMap): Pick<Receipt, 'size' | 'index' | 'proof'> | undefined {
  const proofs = open.get(VDP)
  const list = open.size === 1 && isMap(proofs) && proofs.size === 1 ? proofs.get(INCLUSION) : undefined
  const [first, ...rest] = isList(list) ? list : []
  const inner = isBytes(first) && rest.length === 0 ? readCbor(first) : undefined
  const [size, index, path, ...more] = isList(inner) ? inner : []
  if (typeof size !== 'number' || typeof index !== 'number' || !isList(path) || more.length > 0) return undefined
  if (path.length === 0 || path.length > MAX_HASHES) return undefined
  const proof = path.filter((hash) => isBytes(hash)).filter((hash) => hash.length === HASH_BYTES)
  return proof.length === path.length ? { size, index, proof } : undefined
}

/** The Sig_structure of COSE with the root as detached payload. Its first byte is 0x84, which begins no other signed text. */
function toBeSigned(header: Uint8Array, root: Uint8Array): Uint8Array {
  return writeCbor(['Signature1', header, new Uint8Array(), root])
}

function isBytes(value: Cbor | undefined): value is Uint8Array {
  return value instanceof Uint8Array
}

function isMap(value: Cbor | undefined): value is CborMap {
  return value instanceof Map
}

function isList(value: Cbor | undefined): value is readonly Cbor[] {
  return Array.isArray(value)
}

function isTag(value: Cbor): value is { readonly tag: number; readonly value: Cbor } {
  return typeof value === 'object' && value !== null && 'tag' in value
}
