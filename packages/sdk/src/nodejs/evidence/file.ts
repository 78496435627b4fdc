import { readFile } from 'node:fs/promises'
import { EvidenceError, type EvidenceSource } from '../../node/evidence.ts'

const MAX_CHARACTERS = 8192

/** A token in a file, such as a projected token of Kubernetes. Read each time: the platform replaces it. */
export function fileEvidence(path: string): EvidenceSource {
  return async () => {
    let text: string
    try {
      text = await readFile(path, 'utf8')
    } catch (error) {
      throw new EvidenceError(`The token file ${path} cannot be read. Is it mounted into this container?`, {
        cause: error,
      })
    }
    return { token: requireToken(text, `The file ${path}`) }
  }
}

/** One word; what it is must not be in the message. */
export function requireToken(text: string, place: string): string {
  const token = text.trim()
  if (token === '' || token.length > MAX_CHARACTERS || /\s/.test(token))
    throw new EvidenceError(`${place} has no token.`)
  return token
}
