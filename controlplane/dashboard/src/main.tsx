import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { Router } from 'wouter'
import { onSessionOver } from './api/client'
import { problemOf } from './api/problem'
import { App } from './App'
import { returnToPlace, useNarrowed, usePage } from './location'
import './style.css'

/** What was refused is not asked again by itself; what could not be reached is, once. */
const queries = new QueryClient({
  defaultOptions: {
    queries: { staleTime: 10_000, retry: (failed, error) => failed < 1 && problemOf(error).status === 0 },
  },
})

// The sign-in page takes the place of whatever is shown; the address stays, and leads back.
onSessionOver(() => queries.setQueryData(['me'], null))

returnToPlace()

const root = document.getElementById('root')
if (root) {
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={queries}>
        <Router hook={usePage} searchHook={useNarrowed}>
          <App />
        </Router>
      </QueryClientProvider>
    </StrictMode>,
  )
}
