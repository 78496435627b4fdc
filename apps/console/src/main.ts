import './visible-text.ts'
import { autoRefresh } from './live.ts'
import { mountAtlas } from './pages/atlas/export.ts'
import { mountConnectome } from './pages/connectome/mount.tsx'
import { serveLayouts } from './pages/connectome/run-layout.ts'
import { mountOperator } from './pages/operator/mount.tsx'
import { mountReference } from './pages/reference/try-it.tsx'
import './styles.css'

/** Enriches the page the authority rendered; without this script every fact is there already. */
const ENRICH: Readonly<Record<string, (root: Document) => Promise<void> | void>> = {
  '/connectome': mountConnectome,
  '/atlas': mountAtlas,
  '/api-reference': mountReference,
  '/operator': mountOperator,
}

async function main(root: Document): Promise<void> {
  if (root.querySelector('[data-live]') !== null) autoRefresh(root)
  try {
    await ENRICH[root.body.dataset['page'] ?? '']?.(root)
  } catch {
    // The page stays as the authority drew it, which is complete.
    root.body.dataset['enriched'] = 'failed'
    return
  }
  root.body.dataset['enriched'] = 'done'
}

// The same file is the layout thread: the content policy allows no other script.
if (typeof document === 'undefined') serveLayouts()
else void main(document)
