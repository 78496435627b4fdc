import { SCRIPT_POLICY } from '@chancery/contract'
import { INLINE_PIECES, type LayoutRequest, type NodePositions, firstPositions, openLayout } from './layout.ts'

/** The content policy lets a thread load only files of this origin, so the thread runs this script. */
const SCRIPT = '/operator-console-static/console.js'

/** Computes the layout and reports every few steps, first immediately. Returns a function that ends it. */
export function runLayout(request: LayoutRequest, report: (positions: NodePositions) => void): () => void {
  if (request.count + request.from.length <= INLINE_PIECES) return runHere(request, report)
  report(firstPositions(request))
  const worker = new Worker(layoutScript(), { type: 'module' })
  worker.addEventListener('message', (event: MessageEvent<NodePositions>) => report(event.data))
  worker.postMessage(request)
  return () => worker.terminate()
}

interface ScriptPolicies {
  createPolicy(
    name: string,
    rules: { createScriptURL: (address: string) => string },
  ): { createScriptURL(address: string): string }
}

let trusted: string | undefined

/** The only script URL that the page may use (Trusted Types). A browser without Trusted Types uses the text. */
function layoutScript(): string {
  const { trustedTypes } = globalThis as { readonly trustedTypes?: ScriptPolicies }
  trusted ??=
    trustedTypes?.createPolicy(SCRIPT_POLICY, { createScriptURL: () => SCRIPT }).createScriptURL(SCRIPT) ?? SCRIPT
  return trusted
}

/** A small graph is stable after a few frames. With reduced motion only the result is shown. */
function runHere(request: LayoutRequest, report: (positions: NodePositions) => void): () => void {
  const layout = openLayout(request)
  if (matchMedia('(prefers-reduced-motion: reduce)').matches) {
    while (layout.step());
    report(layout.positions)
    return () => undefined
  }
  let frame = 0
  const advance = (): void => {
    const isMoving = layout.step()
    report(layout.positions)
    if (isMoving) frame = requestAnimationFrame(advance)
  }
  advance()
  return () => cancelAnimationFrame(frame)
}

/** Runs this script as a layout thread. */
export function serveLayouts(): void {
  addEventListener('message', (event: MessageEvent<LayoutRequest>) => {
    const layout = openLayout(event.data)
    const advance = (): void => {
      const isMoving = layout.step()
      postMessage(layout.positions)
      if (isMoving) setTimeout(advance, 0)
    }
    advance()
  })
}
