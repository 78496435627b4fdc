import { createHash } from 'node:crypto'
import { toBase64 } from '../canonical/base64.ts'
import { sha256 } from '../canonical/digest.ts'
import { toUtf8 } from '../canonical/utf8.ts'
import { type Signer, seedSigner } from '../signing/keys.ts'
import { type NodeReader, hashLeaf } from './tree.ts'

export const signer = (name: string, byte: number): Promise<Signer> =>
  seedSigner(name, toBase64(new Uint8Array(32).fill(byte)))
export const leaves = (count: number, salt = ''): readonly Uint8Array[] =>
  Array.from({ length: count }, (_, at) => hashLeaf(sha256(toUtf8(`${salt}${at}`))))
/** A tree over leaf hashes, node by node. */
export const nodes =
  (hashes: readonly Uint8Array[]): NodeReader =>
  async (level, index) =>
    level === 0
      ? (hashes[index] ?? new Uint8Array())
      : new Uint8Array(
          createHash('sha256')
            .update(Uint8Array.of(1))
            .update(await nodes(hashes)(level - 1, 2 * index))
            .update(await nodes(hashes)(level - 1, 2 * index + 1))
            .digest(),
        )
