import type * as Protocol from '../index.ts'
import { differs, flip, keyOf, runCases } from './cases.ts'
import type { Case, CheckResult, CoreVectors, DigestVector, Problem, SignedVector } from './cases.ts'

/** The part of the public interface the vectors exercise; a bundle, a build or the sources can be passed in. */
export type ProtocolUnderTest = Pick<
  typeof Protocol,
  | 'JsonError'
  | 'canonicalJson'
  | 'digestOf'
  | 'fromBase64'
  | 'isJsonObject'
  | 'readInstant'
  | 'readJson'
  | 'readJsonBytes'
  | 'readPublicKey'
  | 'readTrustedPublicKey'
  | 'seedSigner'
  | 'sha256Hex'
  | 'signList'
  | 'toBase64'
  | 'toUtf8'
  | 'verifyList'
  | 'verifySignature'
  | 'writeInstant'
>

export interface CheckOptions {
  /** Signs and verifies in place of the platform's own backend. */
  readonly backend?: Protocol.Ed25519Backend
}

/** Every golden vector against the given protocol; the same function runs in Node, in browsers and in consumers. */
export async function checkCoreVectors(
  vectors: CoreVectors,
  protocol: ProtocolUnderTest,
  options: CheckOptions = {},
): Promise<CheckResult> {
  const cases = [
    ...keyCases(vectors, protocol, options),
    ...numberCases(vectors, protocol),
    ...textCases(vectors, protocol),
    ...timeCases(vectors, protocol),
    ...vectors.digests.flatMap((vector) => byteCases(vector, protocol)),
    ...vectors.signed.flatMap((vector) => signedCases(vector, vectors, protocol, options)),
  ]
  return runCases(cases)
}

function keyCases(vectors: CoreVectors, protocol: ProtocolUnderTest, { backend }: CheckOptions): Case[] {
  const { fingerprint, invite_token: invite } = vectors
  const keys = vectors.keys.flatMap(({ name, seed, public_key }): Case[] => [
    {
      name: `1.7 seed of ${name} gives its public key`,
      run: async () => differs((await protocol.seedSigner(name, seed, backend)).publicKey, public_key),
    },
    {
      name: `1.7 public key of ${name} is read, trusted and written back`,
      run: () => {
        const bytes = protocol.readPublicKey(public_key)
        if (bytes === undefined || protocol.readTrustedPublicKey(public_key) === undefined) return 'refused'
        return differs(protocol.toBase64(bytes), public_key)
      },
    },
  ])
  return [
    ...keys,
    {
      name: `${fingerprint.section} fingerprint of ${fingerprint.key}`,
      run: () => {
        const bytes = protocol.fromBase64(keyOf(vectors.keys, fingerprint.key).public_key)
        return bytes === undefined ? 'refused' : differs(protocol.sha256Hex(bytes), fingerprint.sha256)
      },
    },
    {
      name: `${invite.section} fingerprint of an invite token`,
      run: () => differs(protocol.sha256Hex(invite.token).slice(0, 16), invite.fingerprint),
    },
  ]
}

function numberCases(vectors: CoreVectors, protocol: ProtocolUnderTest): Case[] {
  const tokens = vectors.numbers.map(({ token, canonical }) => ({ input: token, canonical }))
  return [...tokens, ...vectors.objects].map(({ input, canonical }) => ({
    name: `1.3 C of ${input}`,
    run: () => differs(protocol.canonicalJson(protocol.readJson(input)), canonical),
  }))
}

function textCases(vectors: CoreVectors, protocol: ProtocolUnderTest): Case[] {
  const accepted = vectors.accepted_texts.map(({ name, text, canonical }) => ({
    name: `1.1 reads ${name}`,
    run: () => {
      const written = protocol.canonicalJson(protocol.readJsonBytes(protocol.toUtf8(text)))
      return differs(written, canonical) ?? differs(protocol.canonicalJson(protocol.readJson(written)), canonical)
    },
  }))
  const refused = vectors.refused_texts.map(({ rule, name, text, hex }) => ({
    name: `1.1 rule ${rule} refuses ${name}`,
    run: () => {
      const bytes = hex === undefined ? protocol.toUtf8(text ?? '') : fromHex(hex)
      const problem = refuses(() => protocol.readJsonBytes(bytes), protocol)
      return text === undefined ? problem : (problem ?? refuses(() => protocol.readJson(text), protocol))
    },
  }))
  return [...accepted, ...refused]
}

function timeCases(vectors: CoreVectors, protocol: ProtocolUnderTest): Case[] {
  const valid = vectors.timestamps.valid.map(({ text, micros, written }) => ({
    name: `1.4 reads ${text}`,
    run: () => {
      const instant = protocol.readInstant(text)
      if (instant === undefined) return 'refused'
      return differs(String(instant), micros) ?? differs(protocol.writeInstant(instant), written)
    },
  }))
  const invalid = vectors.timestamps.invalid.map((text) => ({
    name: `1.4 refuses ${JSON.stringify(text)}`,
    run: () => {
      const instant = protocol.readInstant(text)
      return instant === undefined ? undefined : `read as ${String(instant)}`
    },
  }))
  return [...valid, ...invalid]
}

function byteCases({ name, section, length, sha256, bytes }: DigestVector, protocol: ProtocolUnderTest): Case[] {
  return [
    {
      name: `${section} ${name}: length and SHA-256`,
      run: () => differs(`${protocol.toUtf8(bytes).length} ${protocol.sha256Hex(bytes)}`, `${length} ${sha256}`),
    },
    {
      name: `${section} ${name}: the bytes are their own canonical form`,
      run: () => {
        const value = protocol.readJson(bytes)
        return differs(protocol.canonicalJson(value), bytes) ?? differs(protocol.digestOf(value), sha256)
      },
    },
  ]
}

function signedCases(
  vector: SignedVector,
  vectors: CoreVectors,
  protocol: ProtocolUnderTest,
  { backend }: CheckOptions,
): Case[] {
  const { name, section, signature, kind } = vector
  const { seed, public_key: key } = keyOf(vectors.keys, vector.signer)
  const message = protocol.toUtf8(vector.bytes)
  const verify = (publicKey: string, bytes: Uint8Array, sig: string): Promise<boolean> =>
    protocol.verifySignature(publicKey, bytes, sig, backend)
  // The delete envelope is text joined by `|`, not JSON: only its length and digest are asked for.
  const bytes = byteCases(vector, protocol).slice(0, kind === 'envelope' ? 1 : 2)
  const cases: Case[] = [
    ...bytes,
    {
      name: `${section} ${name}: signing gives the signature`,
      run: async () => {
        const signer = await protocol.seedSigner(vector.signer, seed, backend)
        return differs(protocol.toBase64(await signer.sign(message)), signature)
      },
    },
    {
      name: `${section} ${name}: the signature verifies`,
      run: async () => ((await verify(key, message, signature)) ? undefined : 'refused'),
    },
    {
      name: `${section} ${name}: any change is refused`,
      run: async () => {
        for (const changed of [flip(message, 0), flip(message, message.length - 1), message.slice(0, -1)]) {
          if (await verify(key, changed, signature)) return 'a changed message verified'
        }
        const raw = protocol.fromBase64(signature) ?? new Uint8Array()
        for (let at = 0; at < raw.length; at += 1) {
          if (await verify(key, message, protocol.toBase64(flip(raw, at)))) return `signature byte ${at} does not count`
        }
        for (const other of vectors.keys) {
          if (other.public_key !== key && (await verify(other.public_key, message, signature))) return 'another key'
        }
        return undefined
      },
    },
  ]
  return kind === 'record' ? [...cases, recordCase(vector, vectors, protocol, backend)] : cases
}

/** A record that carries `signatures` is made and checked by the two functions every artifact uses. */
function recordCase(
  vector: SignedVector,
  vectors: CoreVectors,
  protocol: ProtocolUnderTest,
  backend: Protocol.Ed25519Backend | undefined,
): Case {
  return {
    name: `${vector.section} ${vector.name}: the signed record`,
    run: async () => {
      const { seed, public_key: key } = keyOf(vectors.keys, vector.signer)
      const draft = protocol.readJson(vector.bytes)
      if (!protocol.isJsonObject(draft)) return 'not an object'
      const record = await protocol.signList(draft, await protocol.seedSigner(vector.key_id ?? '', seed, backend))
      const wanted = JSON.stringify([{ key_id: vector.key_id, sig: vector.signature }])
      if (!(await protocol.verifyList(record, [key]))) return 'refused'
      const strangers = vectors.keys.map((other) => other.public_key).filter((other) => other !== key)
      if (await protocol.verifyList(record, strangers)) return 'verified under another key'
      return differs(JSON.stringify(record.signatures), wanted)
    },
  }
}

/** Refused means a JsonError: another exception would leave the caller's error handling. */
function refuses(read: () => unknown, protocol: ProtocolUnderTest): Problem {
  try {
    read()
  } catch (error) {
    return error instanceof protocol.JsonError ? undefined : `threw ${String(error)}`
  }
  return 'accepted'
}

function fromHex(text: string): Uint8Array {
  return Uint8Array.from({ length: text.length / 2 }, (_, i) => Number.parseInt(text.slice(i * 2, i * 2 + 2), 16))
}
