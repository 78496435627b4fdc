/** How the search of the site orders its results. The check of the questions uses the same values. */
export const ranking = { pageLength: 0.1, termFrequency: 0.1, termSaturation: 2, termSimilarity: 9 }
