import './visible-text.ts'
import { autoRefresh } from './live.ts'
import { mountAtlas } from './pages/atlas/export.ts'
import { mountConnectome } from './pages/connectome/mount.tsx'
import { serveLayouts } from './pages/connectome/run-layout.ts'
import { mountReference } from './pages/reference/try-it.tsx'
import './styles/shared.css'
import './styles/pages.css'
import './styles/public.css'
import './styles/phone.css'

/** Adds interaction to the page of the authority, which is complete without this script. */
const ENRICH: Readonly<Record<string, (root: Document) => Promise<void> | void>> = {
  '/connectome': mountConnectome,
  '/atlas': mountAtlas,
  '/api-reference': mountReference,
}

async function main(root: Document): Promise<void> {
  if (root.querySelector('[data-live]') !== null) autoRefresh(root)
  try {
    await ENRICH[root.body.dataset['page'] ?? '']?.(root)
  } catch {
    // The page of the authority stays unchanged, and it is complete.
    root.body.dataset['enriched'] = 'failed'
    return
  }
  root.body.dataset['enriched'] = 'done'
}

// The layout thread runs this file too, because the content policy allows no other script.
if (typeof document === 'undefined') serveLayouts()
else void main(document)
