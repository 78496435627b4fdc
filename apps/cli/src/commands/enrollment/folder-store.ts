import { dirname, join } from 'node:path'
import { type Signer, readJoinCertificate, readJson } from '@chancery/protocol'
import type { NodeDocument, NodeStore } from '@chancery/sdk'
import { CommandError } from '../../errors/failure.ts'
import { FOR_ALL, errorCode, readBytes, readText, replaceFile } from '../../files/files.ts'
import { type NodeFiles, storeCertificate } from '../../connection/node-folder.ts'

/** Stores the files of a node at the paths of its configuration. */
export class HomeStore implements NodeStore {
  readonly #files: NodeFiles
  readonly #signer: Signer

  constructor(files: NodeFiles, signer: Signer) {
    this.#files = files
    this.#signer = signer
  }

  signer(): Promise<Signer> {
    return Promise.resolve(this.#signer)
  }

  read(document: NodeDocument): Promise<string | undefined> {
    return readText(this.#path(document)).catch(undefinedIfMissing)
  }

  readBytes(document: NodeDocument): Promise<Uint8Array | undefined> {
    return readBytes(this.#path(document)).catch(undefinedIfMissing)
  }

  /** For lists; {@link write} formats certificates. */
  writeBytes(document: NodeDocument, pieces: readonly Uint8Array[]): Promise<void> {
    return replaceFile(this.#path(document), [...pieces, Buffer.from('\n')], FOR_ALL)
  }

  async write(document: NodeDocument, text: string): Promise<void> {
    // Indented for people, like the file of `join`.
    if (document === 'certificate') return storeCertificate(this.#files, readJoinCertificate(readJson(text)))
    return replaceFile(this.#path(document), `${text}\n`, FOR_ALL)
  }

  #path(document: NodeDocument): string {
    if (document !== 'join' && document !== 'positions') return this.#files[document]
    return join(dirname(this.#files.certificate), `${document}.json`)
  }
}

/** Returns the error of reading a file; throws any other error. */
export function undefinedIfMissing(error: unknown): undefined {
  if (error instanceof CommandError && errorCode(error.cause) === 'ENOENT') return undefined
  throw error
}
