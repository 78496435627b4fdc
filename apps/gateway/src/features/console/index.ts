import { GATEWAY_ROUTES, GatewayRefusal } from '@chancery/contract'
import type { Feature } from '../../core.ts'
import { home } from './home.ts'
import { readFileSync } from 'node:fs'
import { HttpResponse } from '@chancery/service-kit'
import type { GatewayCall } from '../../edge/call.ts'

/** Output of `npm run build` for the explorer in apps/console. The sources and the built gateway use one folder. */
const FOLDER = new URL('../../../dist/console/', import.meta.url)

/** All files. A path never becomes a file name. */
const CONTENT_TYPES: ReadonlyMap<string, string> = new Map([
  ['explorer.js', 'text/javascript; charset=utf-8'],
  ['styles.css', 'text/css; charset=utf-8'],
  ['logo.svg', 'image/svg+xml'],
  ['favicon.svg', 'image/svg+xml'],
])

const responses = new Map<string, HttpResponse>()

/**
 * GET /assets/{file}
 * Returns a fixed file of the page, which is read once. A file that was not built is not found.
 */
function asset({ params }: GatewayCall): HttpResponse {
  const name = params['file'] ?? ''
  const present = responses.get(name)
  if (present !== undefined) return present
  const contentType = CONTENT_TYPES.get(name)
  if (contentType === undefined) throw new GatewayRefusal('route_not_found')
  const response = new HttpResponse(readBuilt(name), contentType)
  responses.set(name, response)
  return response
}

function readBuilt(name: string): Uint8Array {
  try {
    return readFileSync(new URL(name, FOLDER))
  } catch (error) {
    throw new GatewayRefusal('route_not_found', undefined, { cause: error })
  }
}

/** Opens the endpoint explorer and its files. */
export function openConsole(): Feature {
  return {
    routes: [
      { route: GATEWAY_ROUTES.home, open: home },
      { route: GATEWAY_ROUTES.asset, open: asset },
    ],
    jobs: [],
    close: async () => undefined,
  }
}
