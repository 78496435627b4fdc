import type { JoinCertificate } from '@chancery/protocol'

/** Characters of the texts in each of the two groups. */
const MAX_CHARACTERS = 8_388_608

/**
 * The trusted certificates of recent request proofs by their text, so that a node that calls often is not read and
 * verified from the start each time. Only what depends on the text alone is reused: whether a certificate is revoked or
 * expired is checked for every request. The older of two groups is removed when the newer one is full.
 */
export class ReadCertificates {
  readonly #maxCharacters: number
  #earlier = new Map<string, JoinCertificate>()
  #recent = new Map<string, JoinCertificate>()
  #characters = 0

  constructor(maxCharacters = MAX_CHARACTERS) {
    this.#maxCharacters = maxCharacters
  }

  find(text: string): JoinCertificate | undefined {
    const recent = this.#recent.get(text)
    if (recent !== undefined) return recent
    const earlier = this.#earlier.get(text)
    if (earlier !== undefined) this.store(text, earlier)
    return earlier
  }

  store(text: string, certificate: JoinCertificate): void {
    if (this.#recent.has(text)) return
    if (this.#characters + text.length > this.#maxCharacters) {
      this.#earlier = this.#recent
      this.#recent = new Map()
      this.#characters = 0
    }
    this.#recent.set(text, certificate)
    this.#characters += text.length
  }
}
