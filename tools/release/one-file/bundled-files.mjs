// Replaces node:fs and node:worker_threads inside the single file. Files that are next to the program in the tree are
// bundled under the same path and read by their address. All other calls go to the platform.
import * as fs from 'node:fs'
import { getRawAsset } from 'node:sea'
import * as threads from 'node:worker_threads'

export * from 'node:fs'
export * from 'node:worker_threads'

const PLACE = 'file:///one-file/'

/** @param {unknown} address */
function isCarried(address) {
  return address instanceof URL && address.href.startsWith(PLACE)
}

/** @param {URL} address */
function carried(address) {
  return Buffer.from(getRawAsset(decodeURIComponent(address.href.slice(PLACE.length))))
}

/** @param {any} path @param {any} options */
export function readFileSync(path, options) {
  if (!isCarried(path)) return fs.readFileSync(path, options)
  const encoding = typeof options === 'string' ? options : options?.encoding
  return encoding === undefined || encoding === null ? carried(path) : carried(path).toString(encoding)
}

/** A module of a thread has no file to be loaded from: its text is its address. */
export class Worker extends threads.Worker {
  /** @param {any} script @param {any} options */
  constructor(script, options) {
    super(
      isCarried(script) ? new URL(`data:text/javascript;base64,${carried(script).toString('base64')}`) : script,
      options,
    )
  }
}
