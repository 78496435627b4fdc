import { dirname, join } from 'node:path'
import { readJoinCertificate, readJson } from '@chancery/protocol'
import type { Signer } from '@chancery/protocol'
import type { NodeDocument, NodeStore } from '@chancery/sdk'
import { Failure } from '../../failure.ts'
import { FOR_ALL, errorCode, readText, replaceFile } from '../../files.ts'
import { keepCertificate } from '../../node-home.ts'
import type { NodeFiles } from '../../node-home.ts'

/** The home of a node, wherever its configuration says the files are. */
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
    return readText(this.#path(document)).catch((error: unknown) => {
      if (error instanceof Failure && errorCode(error.cause) === 'ENOENT') return undefined
      throw error
    })
  }

  async write(document: NodeDocument, text: string): Promise<void> {
    // People look at it, so it is laid out as `join` does.
    if (document === 'certificate') return keepCertificate(this.#files, readJoinCertificate(readJson(text)))
    return replaceFile(this.#path(document), `${text}\n`, FOR_ALL)
  }

  #path(document: NodeDocument): string {
    return document === 'join' ? join(dirname(this.#files.certificate), 'join.json') : this.#files[document]
  }
}
