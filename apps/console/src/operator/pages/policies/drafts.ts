/** Drafts of policies, in this browser. They hold no secret: a policy is published as it is written. */
export interface Draft {
  /** The id in the address: of the policy, or ~new. */
  readonly id: string
  readonly text: string
  /** Drafts of earlier releases are JSON and have no format. */
  readonly format?: 'Form' | 'JSON' | 'YAML'
  /** The version that the draft began from; undefined for a new policy. */
  readonly from: number | undefined
  readonly savedAt: string
}

export const NEW_POLICY = '~new'

const NAME = 'chancery-drafts'
const STORE = 'policies'

/** Browsers without a database keep drafts until the window closes. */
const inMemory = new Map<string, Draft>()

function open(): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open(NAME, 1)
    request.addEventListener('upgradeneeded', () => request.result.createObjectStore(STORE, { keyPath: 'id' }))
    request.addEventListener('success', () => resolve(request.result))
    request.addEventListener('error', () => reject(request.error ?? new Error('The browser has no database.')))
  })
}

async function run<Value>(
  mode: IDBTransactionMode,
  work: (store: IDBObjectStore) => IDBRequest<Value>,
): Promise<Value | undefined> {
  let database: IDBDatabase
  try {
    database = await open()
  } catch {
    return undefined
  }
  try {
    return await new Promise<Value>((resolve, reject) => {
      const transaction = database.transaction(STORE, mode)
      const request = work(transaction.objectStore(STORE))
      transaction.addEventListener('complete', () => resolve(request.result))
      transaction.addEventListener('abort', () => reject(transaction.error ?? new Error('The draft was not stored.')))
    })
  } finally {
    database.close()
  }
}

export async function readDraftOf(id: string): Promise<Draft | undefined> {
  const found = await run<unknown>('readonly', (store) => store.get(id))
  return (found as Draft | undefined) ?? inMemory.get(id)
}

export async function listDrafts(): Promise<readonly Draft[]> {
  const found = await run<unknown[]>('readonly', (store) => store.getAll())
  return (found as Draft[] | undefined) ?? [...inMemory.values()]
}

export async function saveDraft(draft: Draft): Promise<void> {
  const key = await run('readwrite', (store) => store.put(draft))
  if (key === undefined) inMemory.set(draft.id, draft)
}

export async function removeDraft(id: string): Promise<void> {
  inMemory.delete(id)
  await run('readwrite', (store) => store.delete(id))
}
