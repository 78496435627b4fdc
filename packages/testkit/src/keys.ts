import { type Signer, seedSigner, sha256, toBase64, toUtf8 } from '@chancery/protocol'

/** A key that is the same in every run, made from a name. Never for anything but tests. */
export function testSigner(keyId: string, name: string = keyId): Promise<Signer> {
  return seedSigner(keyId, testSeed(name))
}

/** The seed behind {@link testSigner}, base64. */
export function testSeed(name: string): string {
  return toBase64(sha256(toUtf8(`chancery-test/${name}`)))
}
