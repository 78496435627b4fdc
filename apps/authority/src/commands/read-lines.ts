import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'

/**
 * The lines of a file that are not empty. The file is opened with the first read: the interface of Node.js gives its
 * lines away from its creation on, and those before the first read would be lost.
 */
export async function* readLines(path: string): AsyncGenerator<string> {
  for await (const line of createInterface({ input: createReadStream(path), crlfDelay: 0 })) if (line !== '') yield line
}
